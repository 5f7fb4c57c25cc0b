"""Sessions from parts, with the values by which lists of sessions are ordered.

How many distinct pages a session has is known between two numbers where its rows are of several
quarters or data files.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.form_ranges import OfWholeRange
from query.prepared.group_numbers import greatest, least, sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.listed_keys import Bounds, ListedKeys
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, smallest
from query.prepared.part_tables import OTHER_EVENTS, QUARTER_MS, SESSIONS, label
from query.prepared.quarters import Quarters
from query.prepared.sessions import visible_ms

SESSION_COLUMNS = (QUARTER_COLUMN, SESSION_COLUMN, "views", "start_ms", "span_ms")

FIELDS = ("first_visit", "last_visit", "page_views")
EVENT_FIELDS = (
    "duration_seconds",
    "unique_pages",
    "custom_events",
    "analytics_engagement_events",
)
"""Of sessions with further events, durations and distinct pages."""


class SessionList(OfWholeRange, frozen=True):
    """All sessions with a page view, in no order."""

    with_events: bool
    """Whether durations, distinct pages, custom events and outbound clicks are wanted too."""

    @property
    def fields(self) -> Sequence[str]:
        """The fields of lists that it has values of."""
        return (*FIELDS, *(EVENT_FIELDS if self.with_events else ()))

    def with_fields(self, fields: Sequence[str]) -> "SessionList":  # noqa: ARG002
        return self

    @property
    def tables(self) -> Sequence[str]:
        return [SESSIONS.name, *([OTHER_EVENTS.name] if self.with_events else ())]

    def rows(self, joined: JoinedParts, quarters: Quarters) -> ListedKeys:  # noqa: ARG002
        joined = joined.whole_sessions
        further = ("visible", "pages") if self.with_events else ()
        rows = joined.columns(SESSIONS.name, *SESSION_COLUMNS, *further)
        keys, count = rows[SESSION_COLUMN].astype(np.intp), joined.count(SESSION_COLUMN)
        views = sums(keys, rows["views"], count)
        kept = np.flatnonzero(views)
        starts = rows[QUARTER_COLUMN].astype(np.int64) * QUARTER_MS + rows["start_ms"]
        first_ms = least(keys, starts, count)[kept]
        last_ms = greatest(keys, starts + rows["span_ms"], count)[kept]
        values = {
            "first_visit": first_ms,
            "last_visit": last_ms,
            "page_views": smallest(views[kept]),
        }
        bounds = {name: (each, each) for name, each in values.items()}
        if self.with_events:
            visible = visible_ms(sums(keys, rows["visible"], count)[kept])
            duration = np.maximum(last_ms - first_ms, visible) // 1000
            pages = greatest(keys, rows["pages"], count), sums(keys, rows["pages"], count)
            bounds["duration_seconds"] = (smallest(duration),) * 2
            bounds["unique_pages"] = (smallest(pages[0][kept]), smallest(pages[1][kept]))
            bounds |= _events(joined, kept)
        return ListedKeys(joined.hashes(SESSION_COLUMN, kept), first_ms, last_ms, bounds)


def _events(joined: JoinedParts, kept: Numbers) -> Mapping[str, Bounds]:
    """Outbound clicks and custom events of sessions, given by number."""
    rows = joined.columns(OTHER_EVENTS.name, SESSION_COLUMN, "row_count")
    domains, _ = joined.text_numbers(OTHER_EVENTS.name, label("outbound_domain"))
    keys, count = rows[SESSION_COLUMN], joined.count(SESSION_COLUMN)
    is_click = domains != NO_TEXT
    found = {}
    for field, own in (("analytics_engagement_events", is_click), ("custom_events", ~is_click)):
        counted = smallest(sums(keys[own], rows["row_count"][own], count)[kept])
        found[field] = counted, counted
    return found
