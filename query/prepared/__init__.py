"""Prepared results, see query/REFERENCE.md."""

FOLDER = "prepared"
"""In the data folder: the rollups of this machine."""
