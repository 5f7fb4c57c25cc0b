"""Export: the stored rows themselves, of any number, as they lie in a table."""
