"""Facts of visits, found by going through all page views of a session."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.oracle.aggregates import is_view
from tests.oracle.filters import FilterJson, fields_of
from tests.oracle.stored_rows import Row

DAY_MS = 86_400_000

SOURCES = (
    "referrer",
    "referrer_name",
    "referrer_type",
    "channel",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "click_id",
)
"""Fact of the visit that a plain name stands for."""

OF_FIRST_VIEW: Mapping[str, str] = {
    **{name: name for name in SOURCES},
    "entry_page": "path",
    "landing_host": "host",
    "browser_name": "browser_name",
    "browser_version": "browser_version",
    "os_name": "os_name",
    "os_version": "os_version",
    "device_type": "device_type",
    "country": "country",
    "region": "region",
    "city": "city",
    "language": "language",
    "timezone": "timezone",
}
OF_LAST_VIEW: Mapping[str, str] = {"exit_page": "path"}

VISIT_NAMES = frozenset(f"visit.{name}" for name in (*OF_FIRST_VIEW, *OF_LAST_VIEW))
EVENT_NAMES = frozenset(f"event.{name}" for name in SOURCES)
TABLES = frozenset(("events", "errors", "vitals", "engagement", "identities"))
"""Tables whose rows belong to sessions."""


class Visits:
    """The page views of each session, in the order of time."""

    def __init__(self, events: Iterable[Row]) -> None:
        self._views: dict[str, list[Row]] = {}
        for row in events:
            if is_view(row) and row["session_id"] is not None:
                self._views.setdefault(row["session_id"], []).append(row)

    def told(self, row: Row, table: str) -> Row:
        """The row with what holds for its visit; an event without one speaks for itself."""
        if table not in TABLES:
            return row
        if row["session_id"] is None:
            views = [row] if table == "events" else []
        else:
            views = self._views.get(row["session_id"], [])
        facts = {f"visit.{n}": _value(views, 0, of) for n, of in OF_FIRST_VIEW.items()}
        facts |= {f"visit.{n}": _value(views, -1, of) for n, of in OF_LAST_VIEW.items()}
        own = {f"event.{n}": row.get(n) for n in SOURCES} if table == "events" else {}
        return {**row, **facts, **own}


def _value(views: list[Row], position: int, column: str) -> Any:
    return views[position].get(column) if views else None


def days_around(start_ms: int, end_ms: int) -> tuple[int, int]:
    """Whole UTC days, from the one a day before the first to the one a day after the end."""
    last_day = (end_ms + DAY_MS - 1) // DAY_MS
    return (start_ms // DAY_MS - 1) * DAY_MS, (last_day + 1) * DAY_MS


def read_as(condition: FilterJson) -> FilterJson:
    """The filter with the plain name of a source written in full."""
    if "and" in condition:
        return {"and": [read_as(each) for each in condition["and"]]}
    if "or" in condition:
        return {"or": [read_as(each) for each in condition["or"]]}
    if "not" in condition:
        return {"not": read_as(condition["not"])}
    if "field" not in condition:
        return condition
    name = condition["field"]
    return {**condition, "field": f"visit.{name}" if name in SOURCES else name}


def is_about_visits(condition: FilterJson) -> bool:
    """Whether the filter, written in full, tells one visit from another and not its rows."""
    return fields_of(condition) <= VISIT_NAMES
