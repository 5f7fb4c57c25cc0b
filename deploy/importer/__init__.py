"""Files of events of the past: read, mapped to our fields, sent in order, and counted."""
