"""What the sessions of buckets add up to, with the two middle durations of each bucket."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.ordered_durations import ChosenDurations
from query.prepared.part import smallest
from query.prepared.range_sessions import ChangedSessions, changed_sessions, sessions_of_rows
from query.prepared.sessions import Sessions
from query.prepared.totals_index import TOTALS_INDEX, TotalsIndex, index_totals


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


def session_totals(joined: JoinedParts, buckets: Numbers, count: int) -> SessionTotals:
    """The totals of `count` buckets; `buckets` has the bucket of each quarter, in order."""
    index = joined.index(TOTALS_INDEX, index_totals)
    if index is None:
        sessions = sessions_of_rows(joined)
        own = buckets[sessions.quarters - joined.first]
        medians = _medians(own, sessions.duration_ms, count)
        return SessionTotals(*[*_added(sessions, own, count), *medians])
    return _of_index(index, changed_sessions(joined, index), joined.first, buckets, count)


def _of_index(
    index: TotalsIndex, changed: ChangedSessions, first: int, buckets: Numbers, count: int
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
