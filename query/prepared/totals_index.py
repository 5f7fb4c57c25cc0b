"""Totals of buckets of quarter-hours: page views, visitors, sessions, exact medians.

The index has sums of all sessions; those that the range cuts are recomputed from their rows.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.distinct_visitors_index import VisitorsIndex, index_visitors
from query.prepared.groups_index import sums
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import SESSIONLESS, SESSIONS
from query.prepared.rollup_view import RollupView
from query.prepared.sessions_index import (
    OF_SESSIONS,
    ChosenDurations,
    OrderedDurations,
    Sessions,
    block_edges,
    crossing,
    join_sessions,
    order_durations,
)

TABLES = (SESSIONS.name, SESSIONLESS.name)
COUNTS = ("views", "row_count")
TOTALS_INDEX = "totals"
"""Its name. It is read between two quarters: others that it has rows of take no time."""


class TotalsIndex(Struct, frozen=True, eq=False):
    """QuarterHours are numbers from that of the first row."""

    first: int
    counts: Numbers
    """Page views of each quarter, and rows."""
    visitors: VisitorsIndex
    sessions: Sessions
    """By the quarter of their first page view, which is their position."""
    blocks: Numbers
    """The first and the last quarter of each block of sessions."""
    sums_before: Numbers
    """What sessions with their first page view before each quarter add up to: their number,
    bounces, page views and durations."""
    durations: OrderedDurations

    @property
    def size(self) -> int:
        """Bytes in memory."""
        of_sessions = (*structs.astuple(self.sessions), self.blocks, self.sums_before)
        own: int = sum(each.nbytes for each in (self.counts, *of_sessions))
        return own + self.visitors.size + self.durations.size

    def of_rows(self, first: int, buckets: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
        """Page views, rows and distinct visitors of buckets, given for each quarter in order."""
        quarters = np.arange(len(buckets)) + first - self.first
        known = (quarters >= 0) & (quarters < len(self.counts[0]))
        of_bucket, quarters = buckets[known], quarters[known]
        views, rows = (sums(of_bucket, each[quarters], count) for each in self.counts)
        return views, rows, self.visitors.distinct(first, buckets, count)

    def session_sums(self, borders: Numbers) -> Numbers:
        """What the sessions between each two borders, which are quarters, add up to."""
        found: Numbers = np.diff(self.sums_before[:, self._quarters(borders)])
        return found

    def viewed_before(self, borders: Numbers) -> Numbers:
        """The number of sessions with their first page view before each border."""
        number: Numbers = self.sums_before[0, self._quarters(borders)]
        return number

    def viewed_first(self, first: int, end: int) -> tuple[int, int]:
        """Between which positions the sessions with their first page view in these quarters are."""
        low, high = self.viewed_before(np.array([first, end])).tolist()
        return low, high

    def crossing(self, quarter: int) -> Numbers:
        """The positions of sessions that have rows before and after this quarter begins."""
        starts, ends = self.sessions.start_quarters, self.sessions.end_quarters
        return crossing(starts, ends, self.blocks, quarter - self.first)

    def sessions_at(self, positions: Numbers | slice, names: Sequence[str]) -> Sequence[Numbers]:
        """Columns of the sessions at these positions; quarters as everywhere."""
        found: dict[str, Numbers] = {
            name: getattr(self.sessions, name)[positions] for name in names
        }
        return [
            own.astype(np.int64) + self.first if name.endswith("quarters") else own
            for name, own in found.items()
        ]

    def _quarters(self, borders: Numbers) -> Numbers:
        """Those of the index."""
        own: Numbers = np.clip(borders - self.first, 0, self.sums_before.shape[1] - 1)
        return own


def index_totals(whole: RollupView) -> TotalsIndex:
    """The index of all rows."""
    names = (QUARTER_COLUMN, VISITOR_COLUMN, *COUNTS)
    tables = [whole.columns(table, *names) for table in TABLES]
    rows = {name: np.concatenate([table[name] for table in tables]) for name in names}
    first = int(rows[QUARTER_COLUMN].min()) if len(rows[QUARTER_COLUMN]) else 0
    quarters = rows[QUARTER_COLUMN].astype(np.int64) - first
    count = int(quarters.max(initial=-1)) + 1
    sessions = _by_quarter(whole, first)
    return TotalsIndex(
        first,
        np.array([sums(quarters, rows[name], count) for name in COUNTS]),
        index_visitors(first, count, quarters, rows[VISITOR_COLUMN]),
        sessions,
        block_edges(sessions.start_quarters, sessions.end_quarters),
        _sums(sessions, count),
        order_durations(sessions.duration_ms),
    )


def _sums(sessions: Sessions, count: int) -> Numbers:
    """What sessions with their first page view before each of `count` quarters add up to."""
    of_quarters = (
        np.bincount(sessions.quarters, minlength=count),
        np.bincount(sessions.quarters[sessions.is_bounce], minlength=count),
        sums(sessions.quarters, sessions.page_views, count),
        sums(sessions.quarters, sessions.duration_ms, count),
    )
    return np.pad(np.cumsum(of_quarters, axis=1), ((0, 0), (1, 0)))


def _by_quarter(whole: RollupView, first: int) -> Sessions:
    rows = whole.columns(SESSIONS.name, *OF_SESSIONS)
    sessions = join_sessions(rows, whole.count(SESSION_COLUMN))
    order = np.argsort(smallest(sessions.quarters - first), kind="stable")  # fast for few bytes
    own = sessions.of(order)
    return Sessions(
        keys=own.keys.astype(np.uint32),
        quarters=smallest(own.quarters - first),
        start_quarters=smallest(own.start_quarters - first),
        end_quarters=smallest(own.end_quarters - first),
        page_views=smallest(own.page_views),
        duration_ms=smallest(own.duration_ms),
        is_bounce=own.is_bounce,
        visitors=own.visitors,
    )


class RangeCorrection(Struct, frozen=True, eq=False):
    """Sessions whose totals change because the range cuts them."""

    low: int
    high: int
    """The sessions of the index with their first page view in the range, by their positions."""
    without: Numbers
    """The positions of those that the range cuts or that have rows in the rest, in order."""
    anew: Sessions
    """Those, and further ones of the rest, from their rows in the range."""
    rows: Sequence[RollupView] = ()
    """The rows that these are made of."""


def session_columns(joined: RollupView, *names: str) -> Sequence[Numbers]:
    """Columns of the sessions with a page view in the range."""
    index = joined.index(TOTALS_INDEX, index_totals)
    if index is None:
        sessions = sessions_of_rows(joined)
        return [getattr(sessions, name) for name in names]
    changed = range_correction(joined, index)
    of_index = index.sessions_at(slice(changed.low, changed.high), names)
    without = changed.without - changed.low
    return [
        np.concatenate([np.delete(own, without), smallest(getattr(changed.anew, name))])
        for name, own in zip(names, of_index, strict=True)
    ]


def sessions_of_rows(joined: RollupView) -> Sessions:
    """The same from all rows, where there is no index."""
    return _sessions(joined.columns(SESSIONS.name, *OF_SESSIONS))


def range_correction(joined: RollupView, index: TotalsIndex) -> RangeCorrection:
    """What is not as the index has it."""
    low, high = index.viewed_first(joined.first, joined.end)
    at_start, at_end = index.crossing(joined.first), index.crossing(joined.end)
    cut = np.union1d(at_start, at_end)
    if not joined.has_unprepared and not len(cut):
        return RangeCorrection(low, high, cut, _sessions())
    flags = joined.unprepared_flags([SESSIONS.name], SESSION_COLUMN)
    if joined.has_unprepared:
        cut = np.union1d(cut, np.flatnonzero(flags[index.sessions.keys]))
    keys, starts, ends = index.sessions_at(cut, ("keys", "start_quarters", "end_quarters"))
    rows = rows_of_sessions(joined, flags, keys, starts, ends)
    without = cut[slice(*np.searchsorted(cut, (low, high)))]
    anew = _sessions(*(each.columns(SESSIONS.name, *OF_SESSIONS) for each in rows))
    return RangeCorrection(low, high, without, anew, rows)


def rows_of_sessions(
    joined: RollupView, flags: Numbers, keys: Numbers, starts: Numbers, ends: Numbers
) -> Sequence[RollupView]:
    """The rows of these sessions, whose first and last quarters are known, and of flagged ones.

    `flags` is by number of the session. With all rows of the rest.
    """
    known = np.zeros(joined.stored_count(SESSION_COLUMN), np.bool_)
    known[keys] = True
    is_all_known = not (flags[: len(known)] & ~known).any()
    windows = _windows(joined, starts, ends) if is_all_known else [joined]
    flags = flags.copy()
    flags[keys] = True
    rows = [each.of_ids(SESSION_COLUMN, flags, with_rest=False) for each in windows]
    return [*rows, joined.unprepared()] if joined.has_unprepared else rows


def _windows(joined: RollupView, starts: Numbers, ends: Numbers) -> list[RollupView]:
    """All rows of these sessions, and as few others as may be: most are near an edge."""
    first, end = joined.first, joined.end
    inside = (ends >= first) & (starts < end)
    starts, ends = starts[inside].astype(np.int64), ends[inside].astype(np.int64)
    is_first = ends - first < end - starts
    high = int(ends[is_first].max(initial=first - 1)) + 1
    low = int(starts[~is_first].min(initial=end))
    if low < high:
        return [joined]
    return [joined.between(first, high), joined.between(low, end)]


def _sessions(*rows: Mapping[str, Numbers]) -> Sessions:
    """The sessions of rows."""
    nothing = dict.fromkeys(OF_SESSIONS, np.zeros(0, np.int64))
    columns = {
        name: np.concatenate([each[name] for each in rows or (nothing,)]) for name in OF_SESSIONS
    }
    keys, numbers = np.unique(columns[SESSION_COLUMN], return_inverse=True)
    sessions = join_sessions({**columns, SESSION_COLUMN: numbers}, len(keys))
    return structs.replace(sessions, keys=keys[sessions.keys])


class SessionTotals(Struct, frozen=True, eq=False):
    """Columns with a number for each bucket."""

    sessions: Numbers
    bounces: Numbers
    page_views: Numbers
    duration_ms: Numbers
    """Of all sessions together."""
    median_low_ms: Numbers
    median_high_ms: Numbers
    """The two middle durations; 0 without sessions."""


def session_totals(joined: RollupView, buckets: Numbers, count: int) -> SessionTotals:
    """The totals of `count` buckets; `buckets` has the bucket of each quarter, in order."""
    index = joined.index(TOTALS_INDEX, index_totals)
    if index is None:
        sessions = sessions_of_rows(joined)
        own = buckets[sessions.quarters - joined.first]
        medians = _medians(own, sessions.duration_ms, count)
        return SessionTotals(*[*_added(sessions, own, count), *medians])
    return _of_index(index, range_correction(joined, index), joined.first, buckets, count)


def _of_index(
    index: TotalsIndex, changed: RangeCorrection, first: int, buckets: Numbers, count: int
) -> SessionTotals:
    left_out = index.sessions.of(changed.without)
    of_left_out = buckets[left_out.quarters.astype(np.int64) + index.first - first]
    of_anew = buckets[changed.anew.quarters - first]
    borders = np.searchsorted(buckets, np.arange(count + 1)) + first
    added = (
        of_all - less + more
        for of_all, less, more in zip(
            index.session_sums(borders),
            _added(left_out, of_left_out, count),
            _added(changed.anew, of_anew, count),
            strict=True,
        )
    )
    columns = [*added]
    durations = index.sessions.duration_ms
    middle = np.zeros((2, count), np.int64)
    positions = index.viewed_before(borders).tolist()
    without = _by_bucket(of_left_out, changed.without, count)
    more = _by_bucket(of_anew, changed.anew.duration_ms, count)
    before = lru_cache(maxsize=2)(index.durations.counts_before)  # buckets share their borders
    for bucket in np.flatnonzero(columns[0]).tolist():
        low, high, number = positions[bucket], positions[bucket + 1], int(columns[0][bucket])
        ranks = [(number - 1) // 2, number // 2]
        chosen = ChosenDurations(durations, low, high, without[bucket], more[bucket])
        middle[:, bucket] = index.durations.at_ranks(chosen, ranks, before)
    return SessionTotals(*[*columns, *middle])


def _added(sessions: Sessions, buckets: Numbers, count: int) -> Sequence[Numbers]:
    """The sessions, bounces, page views and durations of each bucket."""
    return (
        np.bincount(buckets, minlength=count),
        np.bincount(buckets[sessions.is_bounce], minlength=count),
        sums(buckets, sessions.page_views, count),
        sums(buckets, sessions.duration_ms, count),
    )


def _medians(buckets: Numbers, duration_ms: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """The two middle durations of each bucket; 0 where there are no sessions."""
    low, high = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for bucket, own in enumerate(_by_bucket(buckets, duration_ms, count)):
        if len(own):
            middle = [(len(own) - 1) // 2, len(own) // 2]
            low[bucket], high[bucket] = np.partition(own, middle)[middle]
    return low, high


def _by_bucket(buckets: Numbers, values: Numbers, count: int) -> Sequence[Numbers]:
    """The values of each bucket, in their order."""
    if count == 1:
        return [values]
    counts = np.bincount(buckets, minlength=count)
    order = np.argsort(smallest(buckets), kind="stable")  # fast for few bytes
    return np.split(values[order], np.cumsum(counts)[:-1])


class BucketTotals(Struct, frozen=True):
    """What the rows of one bucket add up to."""

    page_views: int
    visitors: int
    row_count: int
    sessions: int
    bounces: int
    session_page_views: int
    duration_ms: int
    """Of all sessions together."""
    median_low_ms: int
    median_high_ms: int
    """The two middle durations; 0 without sessions."""


NO_TOTALS = BucketTotals(*[0] * len(BucketTotals.__struct_fields__))
"""Of no rows."""


def bucket_totals(joined: RollupView, buckets: Numbers, count: int) -> Sequence[BucketTotals]:
    """The totals of `count` buckets; `buckets` has the bucket of each quarter that is asked for."""
    views, rows, visitors = row_totals(joined, buckets, count)
    of_sessions = session_totals(joined.whole_sessions, buckets, count)
    columns = (views, visitors, rows, *structs.astuple(of_sessions))
    return [BucketTotals(*each) for each in zip(*(c.tolist() for c in columns), strict=True)]


def row_totals(
    joined: RollupView, buckets: Numbers, count: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Page views, rows and distinct visitors of each bucket."""
    index = joined.index(TOTALS_INDEX, index_totals)
    if index is None:
        return _of_rows(joined, buckets, count)
    return _of_rows_indexed(joined, index, buckets, count)


def _of_rows(joined: RollupView, buckets: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
    """Page views, rows and distinct visitors of each bucket."""
    of_row, visitors, views, rows = _columns(joined, buckets)
    distinct = joined.distinct(of_row, visitors, count)
    return sums(of_row, views, count), sums(of_row, rows, count), distinct


def _columns(joined: RollupView, buckets: Numbers) -> Sequence[Numbers]:
    """The bucket of each row, its visitor, page views and rows."""
    names = (QUARTER_COLUMN, VISITOR_COLUMN, *COUNTS)
    tables = [joined.columns(table, *names) for table in TABLES]
    quarters, *others = (np.concatenate([table[name] for table in tables]) for name in names)
    return buckets[quarters.astype(np.int64) - joined.first], *others


def _of_rows_indexed(
    joined: RollupView, index: TotalsIndex, buckets: Numbers, count: int
) -> tuple[Numbers, Numbers, Numbers]:
    found = index.of_rows(joined.first, buckets, count)
    if not joined.has_unprepared:
        return found
    views, rows, visitors = found
    flags = joined.unprepared_flags(TABLES, VISITOR_COLUMN)
    known = joined.of_ids(VISITOR_COLUMN, flags, with_rest=False)
    of_known, known_visitors, *_ = _columns(known, buckets)
    unprepared, rest_visitors, rest_views, rest_rows = _columns(joined.unprepared(), buckets)
    both = np.concatenate([of_known, unprepared]), np.concatenate([known_visitors, rest_visitors])
    counted_already = joined.distinct(of_known, known_visitors, count)
    return (
        views + sums(unprepared, rest_views, count),
        rows + sums(unprepared, rest_rows, count),
        visitors + joined.distinct(*both, count) - counted_already,
    )
