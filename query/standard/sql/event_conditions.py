"""What kind of event a row is, as conditions over `scoped`."""

from query.standard.sql.definitions import EXIT, PAGE_VIEW

AWAY = "outbound_domain IS NOT NULL"
CUSTOM = f"NOT {PAGE_VIEW} AND name <> '{EXIT}' AND outbound_domain IS NULL"
"""What the sender named: neither a page view, nor its exit, nor a click that leads away."""
