"""Visitors from rollups, with the values by which lists of visitors are ordered.

A row without a session is known by its quarter-hour only, so the first and the last instant
of its visitor may be known between two numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import structs

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.groups_index import distinct_values, greatest, least, sums
from query.prepared.listed_keys import Bounds, ListedKeys
from query.prepared.quarter_hours import QuarterHours, RangePlan
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import (
    OTHER_EVENTS,
    PAGES,
    QUARTER_MS,
    SESSIONLESS,
    SESSIONS,
    label,
)
from query.prepared.rollup_view import RollupView

COUNT_COLUMNS = (QUARTER_COLUMN, VISITOR_COLUMN, "row_count", "views")
FIELDS = ("first_visit", "last_visit", "total_events", "page_views")
NO_NUMBER = 0
"""Of the visitor of rows without one."""

Further: TypeAlias = Callable[[RollupView], Numbers]
"""A value by number of the visitor."""


class VisitorList(RangePlan, frozen=True):
    """All visitors with a row, in no order."""

    further: tuple[str, ...] = ()
    """The fields of `FURTHER` that are wanted too."""

    @property
    def fields(self) -> Sequence[str]:
        """The fields of lists that it can give values of."""
        return (*FIELDS, *FURTHER)

    def with_fields(self, fields: Sequence[str]) -> "VisitorList":
        """The same list with these fields."""
        return structs.replace(self, further=tuple(name for name in FURTHER if name in fields))

    @property
    def tables(self) -> Sequence[str]:
        named = (table for field in self.further for table in FURTHER[field][0])
        return [*dict.fromkeys((SESSIONS.name, SESSIONLESS.name, *named))]

    def rows(self, joined: RollupView, quarters: QuarterHours) -> ListedKeys:  # noqa: ARG002
        with_session = joined.columns(SESSIONS.name, *COUNT_COLUMNS, "start_ms", "span_ms")
        without = joined.columns(SESSIONLESS.name, *COUNT_COLUMNS)
        rows = {c: np.concatenate([with_session[c], without[c]]) for c in COUNT_COLUMNS}
        keys, count = rows[VISITOR_COLUMN].astype(np.intp), joined.count(VISITOR_COLUMN)
        events = sums(keys, rows["row_count"], count)
        events[NO_NUMBER] = 0
        kept = np.flatnonzero(events)
        exact = with_session["start_ms"], with_session["span_ms"]
        first, last = (_of(kept, bounds) for bounds in _edges(rows, keys, *exact, count))
        views = sums(keys, rows["views"], count)[kept]
        values: dict[str, Bounds] = {
            "first_visit": first,
            "last_visit": last,
            "total_events": (smallest(events[kept]),) * 2,
            "page_views": (smallest(views),) * 2,
        }
        for field in self.further:
            values[field] = (smallest(FURTHER[field][1](joined)[kept]),) * 2
        hashes = joined.hashes(VISITOR_COLUMN, kept)
        return ListedKeys(hashes, first[0], last[1], values)


def _edges(
    rows: Mapping[str, Numbers], keys: Numbers, start_ms: Numbers, span_ms: Numbers, count: int
) -> tuple[Bounds, Bounds]:
    """The first and the last instant of each visitor (Unix ms), between two numbers each.

    `start_ms` and `span_ms` are of the first rows, those with a session.
    """
    told = len(start_ms)
    starts = rows[QUARTER_COLUMN].astype(np.int64) * QUARTER_MS
    starts[:told] += start_ms
    ends = starts.copy()
    ends[:told] += span_ms
    first, last = least(keys, starts, count), greatest(keys, ends, count)
    if told == len(keys):
        return (first, first), (last, last)
    starts[told:] += QUARTER_MS - 1
    latest_first = least(keys, starts, count)
    ends[told:] += QUARTER_MS - 1
    return (first, latest_first), (last, greatest(keys, ends, count))


def _of(kept: Numbers, bounds: Bounds) -> Bounds:
    low = bounds[0][kept]
    return low, low if bounds[1] is bounds[0] else bounds[1][kept]


def _sessions(joined: RollupView) -> Numbers:
    """Sessions in which the visitor viewed a page."""
    rows = joined.columns(SESSIONS.name, VISITOR_COLUMN, SESSION_COLUMN, "views")
    viewed = rows["views"] > 0
    sessions = joined.count(SESSION_COLUMN)
    visitors = joined.count(VISITOR_COLUMN)
    keys, values = rows[VISITOR_COLUMN][viewed], rows[SESSION_COLUMN][viewed]
    return distinct_values(keys, values, visitors, sessions)


def _pages(joined: RollupView) -> Numbers:
    keys = joined.columns(PAGES.name, VISITOR_COLUMN)[VISITOR_COLUMN]
    pages, texts = joined.text_numbers(PAGES.name, label("path"))
    return distinct_values(keys, pages, joined.count(VISITOR_COLUMN), len(texts))


def _custom_events(joined: RollupView) -> Numbers:
    rows = joined.columns(OTHER_EVENTS.name, VISITOR_COLUMN, "row_count")
    is_custom = _is_custom(joined)
    keys = rows[VISITOR_COLUMN][is_custom]
    return sums(keys, rows["row_count"][is_custom], joined.count(VISITOR_COLUMN))


def _event_names(joined: RollupView) -> Numbers:
    keys = joined.columns(OTHER_EVENTS.name, VISITOR_COLUMN)[VISITOR_COLUMN]
    names, texts = joined.text_numbers(OTHER_EVENTS.name, label("name"))
    is_custom = _is_custom(joined)
    count = joined.count(VISITOR_COLUMN)
    return distinct_values(keys[is_custom], names[is_custom], count, len(texts))


def _is_custom(joined: RollupView) -> Numbers:
    """Which of the other events are no outbound clicks."""
    domains, _ = joined.text_numbers(OTHER_EVENTS.name, label("outbound_domain"))
    is_custom: Numbers = domains == NO_TEXT
    return is_custom


FURTHER: Mapping[str, tuple[Sequence[str], Further]] = {
    "session_count": ((), _sessions),
    "unique_pages": ((PAGES.name,), _pages),
    "custom_event_count": ((OTHER_EVENTS.name,), _custom_events),
    "unique_event_names": ((OTHER_EVENTS.name,), _event_names),
}
"""Values that cost more: the tables of rollups that each reads besides, and how it is made."""
