"""Facts of a visit, read from the page views of its session one after the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.oracle.aggregates import is_view
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
OF_FIRST_VIEW: Mapping[str, str] = {
    "entry_page": "path",
    "landing_host": "host",
    **{
        name: name
        for name in (
            *SOURCES,
            "browser_name",
            "browser_version",
            "os_name",
            "os_version",
            "device_type",
            "country",
            "region",
            "city",
            "language",
            "timezone",
        )
    },
}
"""Facts by their name, with the column of the first page view that they are."""
OF_LAST_VIEW: Mapping[str, str] = {"exit_page": "path"}
COLUMNS = {**OF_FIRST_VIEW, **OF_LAST_VIEW}

Facts = Mapping[str, Any]
FactsBySession = Mapping[str, Facts]

NO_FACTS: Facts = dict.fromkeys(COLUMNS)


def facts_by_session(
    events: Sequence[Row], start_ms: int, end_ms: int, may_see: Callable[[Row], bool]
) -> FactsBySession:
    """The facts of each session, from page views up to a day before and after the time range."""
    first: dict[str, Row] = {}
    last: dict[str, Row] = {}
    for row in events:
        near = start_ms - DAY_MS <= row["ms"] < end_ms + DAY_MS
        if row["session_id"] is not None and near and is_view(row) and may_see(row):
            first.setdefault(row["session_id"], row)
            last[row["session_id"]] = row
    return {
        session: {
            **{name: view.get(column) for name, column in OF_FIRST_VIEW.items()},
            **{name: last[session].get(column) for name, column in OF_LAST_VIEW.items()},
        }
        for session, view in first.items()
    }


def with_facts(row: Row, facts: FactsBySession, *, is_event: bool) -> Row:
    """A row with the facts of its visit; an event outside of sessions has those of its own."""
    if row["session_id"] is not None:
        own = facts.get(row["session_id"], NO_FACTS)
    elif is_event:
        own = {name: row.get(column) for name, column in COLUMNS.items()}
    else:
        own = NO_FACTS
    stored = {f"event.{name}": row.get(name) for name in SOURCES} if is_event else {}
    return {
        **row,
        **stored,
        **{f"visit.{name}": value for name, value in own.items()},
        **{name: own[name] for name in SOURCES},
    }
