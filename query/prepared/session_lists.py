"""Sessions from rollups, with the values by which lists of sessions are ordered.

How many distinct pages a session has is known between two numbers where its rows are of several
quarters or data files.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.groups_index import greatest, least, sums
from query.prepared.listed_keys import ListedKeys
from query.prepared.quarter_hours import QuarterHours, RangePlan
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, smallest
from query.prepared.rollup_tables import OTHER_EVENTS, QUARTER_MS, SESSIONS, label
from query.prepared.rollup_view import RollupView
from query.prepared.sessions_index import visible_ms
from query.prepared.totals_index import TOTALS_INDEX, TotalsIndex, index_totals, range_correction

SESSION_COLUMNS = (QUARTER_COLUMN, SESSION_COLUMN, "views", "start_ms", "span_ms")

FIRST, LAST, VIEWS = FIELDS = ("first_visit", "last_visit", "page_views")
DURATION, PAGES, CUSTOM, CLICKS = EVENT_FIELDS = (
    "duration_seconds",
    "unique_pages",
    "custom_events",
    "analytics_engagement_events",
)
"""Of sessions with further events, durations and distinct pages."""
MOST_PAGES = "most_pages"
"""The column of the greatest number of distinct pages; that of `unique_pages` is the least."""


class ListedSessions(Struct, frozen=True, eq=False):
    """Sessions with a page view, and a column for each value."""

    keys: Numbers
    columns: Mapping[str, Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.keys.nbytes + sum(each.nbytes for each in self.columns.values())

    def at(self, positions: Numbers) -> "ListedSessions":
        """Some of them."""
        columns = {name: column[positions] for name, column in self.columns.items()}
        return ListedSessions(self.keys[positions], columns)

    def plus(self, others: "ListedSessions") -> "ListedSessions":
        """These and others, which have the same columns."""
        columns = {
            name: np.concatenate([column, others.columns[name]])
            for name, column in self.columns.items()
        }
        return ListedSessions(np.concatenate([self.keys, others.keys]), columns)


class SessionList(RangePlan, frozen=True):
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

    def rows(self, joined: RollupView, quarters: QuarterHours) -> ListedKeys:  # noqa: ARG002
        joined = joined.whole_sessions
        totals = joined.index(TOTALS_INDEX, index_totals)
        listed = self._of_rows([joined]) if totals is None else self._of_index(joined, totals)
        columns = listed.columns
        bounds = {name: (columns[name], columns[name]) for name in self.fields}
        if self.with_events:
            bounds[PAGES] = columns[PAGES], columns[MOST_PAGES]
        hashes = joined.hashes(SESSION_COLUMN, listed.keys)
        return ListedKeys(hashes, columns[FIRST], columns[LAST], bounds)

    def _of_index(self, joined: RollupView, totals: TotalsIndex) -> ListedSessions:
        """Indexed sessions, with the cut ones recomputed."""
        origin = totals.first * QUARTER_MS

        def make(whole: RollupView) -> ListedSessions:
            listed = self._of_rows([whole])
            listed = listed.at(np.searchsorted(listed.keys, totals.sessions.keys))
            since = {name: smallest(listed.columns[name] - origin) for name in (FIRST, LAST)}
            return ListedSessions(totals.sessions.keys, {**listed.columns, **since})

        index = joined.index(self, make)
        if index is None:
            return self._of_rows([joined])
        changed = range_correction(joined, totals)
        kept = np.delete(np.arange(changed.low, changed.high), changed.without - changed.low)
        own = index.at(kept)
        times = {name: own.columns[name].astype(np.int64) + origin for name in (FIRST, LAST)}
        listed = ListedSessions(own.keys, {**own.columns, **times})
        return listed.plus(self._of_rows(changed.rows)) if changed.rows else listed

    def _of_rows(self, rollups: Sequence[RollupView]) -> ListedSessions:
        """The sessions of rows, by their numbers in ascending order."""
        further = ("visible", "pages") if self.with_events else ()
        rows = _columns(rollups, SESSIONS.name, *SESSION_COLUMNS, *further)
        numbers, keys = _numbered(rows[SESSION_COLUMN], rollups[0].count(SESSION_COLUMN))
        count = len(numbers)
        views = sums(keys, rows["views"], count)
        kept = np.flatnonzero(views)
        starts = rows[QUARTER_COLUMN].astype(np.int64) * QUARTER_MS + rows["start_ms"]
        first_ms = least(keys, starts, count)[kept]
        last_ms = greatest(keys, starts + rows["span_ms"], count)[kept]
        columns = {FIRST: first_ms, LAST: last_ms, VIEWS: smallest(views[kept])}
        if self.with_events:
            visible = visible_ms(sums(keys, rows["visible"], count)[kept])
            columns[DURATION] = smallest(np.maximum(last_ms - first_ms, visible) // 1000)
            columns[PAGES] = smallest(greatest(keys, rows["pages"], count)[kept])
            columns[MOST_PAGES] = smallest(sums(keys, rows["pages"], count)[kept])
            columns |= _events(rollups, numbers[kept])
        return ListedSessions(numbers[kept], columns)


def _columns(rollups: Sequence[RollupView], table: str, *names: str) -> Mapping[str, Numbers]:
    """Columns of a table in all of these rows."""
    found = [each.columns(table, *names) for each in rollups]
    return {name: np.concatenate([each[name] for each in found]) for name in names}


def _numbered(keys: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Numbers in ascending order that all keys are among, and the position of each key there."""
    if len(keys) < count // 8:
        return np.unique(keys, return_inverse=True)
    return np.arange(count), keys.astype(np.intp)


def _events(rollups: Sequence[RollupView], kept: Numbers) -> Mapping[str, Numbers]:
    """Outbound clicks and custom events of sessions, given by number in ascending order."""
    rows = _columns(rollups, OTHER_EVENTS.name, SESSION_COLUMN, "row_count")
    domains = [each.text_values(OTHER_EVENTS.name, label("outbound_domain")) for each in rollups]
    is_click = np.concatenate(domains) != NO_TEXT
    at = np.full(rollups[0].count(SESSION_COLUMN), len(kept), np.intp)
    at[kept] = np.arange(len(kept))
    keys = at[rows[SESSION_COLUMN]]
    return {
        field: smallest(sums(keys[own], rows["row_count"][own], len(kept) + 1)[:-1])
        for field, own in ((CLICKS, is_click), (CUSTOM, ~is_click))
    }
