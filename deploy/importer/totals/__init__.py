"""Totals of other products: daily counts, stored as they are in a table of their own."""
