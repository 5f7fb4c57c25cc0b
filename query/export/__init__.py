"""Export: the stored rows of a table, of any number."""
