"""Visits from parts: the first or the last page view of each, whichever part has it.

Parts have a row for each visit and UTC day; the row of that page view has the visit's facts.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import NEVER, greatest, least
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN
from query.prepared.part_tables import QUARTER_MS, SESSIONS, VISITS

VISIT_COLUMNS = (SESSION_COLUMN, "quarter", "start_ms", "span_ms")
QUARTERS_AROUND = 96
"""Visits are looked up in the range and at least so many quarters around it."""


class LongVisits(Struct, frozen=True, eq=False):
    """Visits so long that a range with some of their rows may not have their first page view.

    The facts of all others are the same in any range.
    """

    first_views: Numbers
    last_views: Numbers
    starts: Numbers
    ends: Numbers
    """Quarters of page views, and of the first and last rows."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return 4 * self.starts.nbytes

    def are_told(self, first: int, end: int, around: tuple[int, int]) -> bool:
        """Whether the rows of these quarters have the facts of all rows."""
        before, after = around
        is_outside = (self.first_views < before) | (self.last_views >= after)
        return not (is_outside & (self.ends >= first) & (self.starts < end)).any()


def long_visits(whole: JoinedParts) -> LongVisits:
    """The long visits among all."""
    count = whole.count(SESSION_COLUMN)
    edges = []
    for table in (VISITS.name, SESSIONS.name):
        rows = whole.columns(table, SESSION_COLUMN, QUARTER_COLUMN)
        keys, quarters = rows[SESSION_COLUMN], rows[QUARTER_COLUMN].astype(np.int64)
        edges += [least(keys, quarters, count), greatest(keys, quarters, count)]
    has_view = edges[0] != NEVER
    first_views, last_views, starts, ends = (each[has_view] for each in edges)
    is_long = np.maximum(ends - first_views, last_views - starts) >= QUARTERS_AROUND
    return LongVisits(*(each[is_long] for each in (first_views, last_views, starts, ends)))


def visits_are_told(joined: JoinedParts) -> bool:
    """Whether the facts of visits in the range are those that indexes of all rows have.

    Those of `sessions_of_rest` may be others.
    """
    if joined.visits is None:
        return False
    visits = joined.visits.joined
    of_whole = joined.index("long_visits", long_visits)
    around = (visits.first, visits.end)
    # the rows of a quarter that the range cuts are given to the one beside it
    return of_whole is not None and of_whole.are_told(joined.first - 1, joined.end + 1, around)


def sessions_of_rest(joined: JoinedParts) -> Numbers | None:
    """By number of the session, whether it or its visit has rows without a stored part.

    None when there are no such rows.
    """
    having = [joined.has_rest, joined.visits is not None and joined.visits.joined.has_rest]
    if not any(having):
        return None
    flags = joined.rest_flags([SESSIONS.name], SESSION_COLUMN)
    if joined.visits is not None:
        flags |= joined.visits.joined.rest_flags([VISITS.name], SESSION_COLUMN)
    return flags


def index_visits(
    rows: Mapping[str, Numbers], count: int, *, is_last: bool = False
) -> Numbers | None:
    """For each of `count` sessions the position of the row with its first or last page view.

    That after the last row when it has none; None when rows of a visit tie for that.
    """
    keys = rows["session_key"]
    times = rows["quarter"].astype(np.int64) * QUARTER_MS + rows["start_ms"]
    if is_last:
        times = -(times + rows["span_ms"])
    return first_of_each(keys, times, np.arange(len(keys)), count)


def first_of_each(keys: Numbers, times: Numbers, values: Numbers, count: int) -> Numbers | None:
    """The position of the least time of each of `count` keys; of one without any, their number.

    None when a key has different values at that time: which of them is first is not known here.
    """
    at = np.flatnonzero(times == least(keys, times, count)[keys])
    first = np.full(count, len(keys))
    first[keys[at]] = at
    return None if (values[at] != values[first[keys[at]]]).any() else first
