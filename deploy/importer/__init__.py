"""Import of historical events from CSV and NDJSON files."""
