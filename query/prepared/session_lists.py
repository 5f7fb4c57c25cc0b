"""Sessions from parts, with the values by which lists of sessions are ordered.

How many distinct pages a session has is known between two numbers where its rows are of several
quarters or data files. The first sessions of an order are found with those that may be among them.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias, overload

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.group_numbers import greatest, least, sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, smallest
from query.prepared.part_tables import OTHER_EVENTS, QUARTER_MS, SESSIONS, label
from query.prepared.quarters import Quarters, whole_range
from query.prepared.sessions import visible_ms
from query.request.buckets import Granularity
from query.request.time_range import TimeRange

SESSION_COLUMNS = (QUARTER_COLUMN, SESSION_COLUMN, "views", "start_ms", "span_ms")

FIELDS = ("first_visit", "last_visit", "page_views")
EVENT_FIELDS = (
    "duration_seconds",
    "unique_pages",
    "custom_events",
    "analytics_engagement_events",
)
"""Of sessions with further events, durations and distinct pages."""

Bounds: TypeAlias = tuple[Numbers, Numbers]
"""The least and the greatest value that each session may have; the same where it is known."""


class ScoreTerm(Struct, frozen=True):
    """A part of a score: the sum of fields, divided, at most so much, and weighted."""

    fields: tuple[str, ...]
    most: int
    weight: int = 1
    divisor: int = 1


def score_bounds(terms: Sequence[ScoreTerm], values: Mapping[str, Bounds]) -> Bounds:
    """The least and the greatest sum of terms that grow with each field."""
    low, high = (sum(_of_term(term, values, end) for term in terms) for end in (0, 1))
    return np.asarray(low), np.asarray(high)


def _of_term(term: ScoreTerm, values: Mapping[str, Bounds], end: int) -> Numbers:
    added = sum(values[field][end].astype(np.int64) for field in term.fields)
    weighted: Numbers = np.minimum(added // term.divisor, term.most) * term.weight
    return weighted


class ListedSessions(Sequence[Row]):
    """The sessions with a page view: hash, first and last instant of each, and further values."""

    def __init__(self, hashes: Numbers, first_ms: Numbers, values: Mapping[str, Bounds]) -> None:
        """`values` are by field of the rows of lists."""
        self.hashes = hashes
        self.values = values
        self._first_ms = first_ms

    @property
    def size(self) -> int:
        """Bytes in memory."""
        arrays = {id(each): each for bounds in self.values.values() for each in bounds}
        own = (self.hashes, self._first_ms)
        return sum(each.nbytes for each in (*own, *arrays.values()))

    def __len__(self) -> int:
        return len(self.hashes)

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Row]: ...
    def __getitem__(self, key: int | slice) -> Row | Sequence[Row]:
        if isinstance(key, int):
            return self.rows(np.array([range(len(self))[key]]))[0]
        return self.rows(np.arange(len(self))[key])

    def rows(self, at: Numbers) -> Sequence[Row]:
        """Hash, first and last instant (Unix ms) of the sessions at some positions."""
        columns = (self.hashes, self._first_ms, self.values["last_visit"][0])
        return list(zip(*(each[at].tolist() for each in columns), strict=True))

    def of_hashes(self, counts: Sequence[Row]) -> Numbers:
        """A number for each session from pairs of hash and number; 0 for those without any."""
        found = np.zeros(len(self), np.int64)
        if not counts or not len(self):
            return found
        hashes, numbers = np.array(counts, np.int64).T
        order = np.argsort(self.hashes, kind="stable")
        at = order[np.minimum(np.searchsorted(self.hashes, hashes, sorter=order), len(order) - 1)]
        is_listed = self.hashes[at] == hashes
        found[at[is_listed]] = numbers[is_listed]
        return found


class SessionList(Struct, frozen=True):
    """All sessions with a page view, in no order."""

    with_events: bool
    """Whether durations, distinct pages, custom events and outbound clicks are wanted too."""
    visit_tables: Sequence[str] = ()
    filter_fields: ClassVar[Mapping[str, int]] = {}
    text_count: ClassVar[int] = 0

    @property
    def fields(self) -> Sequence[str]:
        """The fields of lists that it has values of."""
        return (*FIELDS, *(EVENT_FIELDS if self.with_events else ()))

    @property
    def tables(self) -> Sequence[str]:
        return [SESSIONS.name, *([OTHER_EVENTS.name] if self.with_events else ())]

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> ListedSessions:  # noqa: ARG002
        further = ("visible", "pages") if self.with_events else ()
        rows = joined.columns(SESSIONS.name, *SESSION_COLUMNS, *further)
        keys, count = rows[SESSION_COLUMN], joined.count(SESSION_COLUMN)
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
        return ListedSessions(joined.hashes(SESSION_COLUMN, kept), first_ms, bounds)


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


def first_of(orders: Sequence[tuple[Bounds, bool]], count: int, wanted: int) -> Numbers:
    """Positions of what may be among the first `wanted` of so many, in no order.

    Each order is of values that ascend, or not. What is sorted like the last one is among them.
    """
    pool, missing = np.arange(count), wanted
    kept, tied = np.zeros(count, np.bool_), np.ones(count, np.bool_)
    if wanted >= count:
        return pool
    for (low, high), ascending in orders:
        latest, earliest = (high, low) if ascending else (_reversed(low), _reversed(high))
        values = latest[pool]
        cut = np.partition(values, missing - 1)[missing - 1]
        missing -= int(np.count_nonzero(values < cut))
        pool = pool[values == cut]
        kept |= tied & (earliest < cut)
        tied &= earliest == cut
    return np.flatnonzero(kept | tied)


def _reversed(values: Numbers) -> Numbers:
    return -values.astype(np.int64)
