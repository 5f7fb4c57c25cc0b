"""What kind of event a row is, as conditions over `scoped`."""

from query.standard.sql.definitions import PAGE_EXIT, PAGE_VIEW

IS_OUTBOUND = "outbound_domain IS NOT NULL"
IS_CUSTOM = f"NOT {PAGE_VIEW} AND name <> '{PAGE_EXIT}' AND outbound_domain IS NULL"
"""What the sender named: neither a page view, nor its exit, nor a click that leads away."""
