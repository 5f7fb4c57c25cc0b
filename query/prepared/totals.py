"""Totals of buckets from parts: page views, visitors, sessions with their exact median duration."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.part_tables import SESSIONS
from query.prepared.sessions import OF_SESSIONS, Sessions, join_sessions
from query.prepared.totals_index import COUNTS, TABLES, TotalsIndex, index_totals


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


def bucket_totals(joined: JoinedParts, buckets: Numbers, count: int) -> Sequence[BucketTotals]:
    """The totals of `count` buckets; `buckets` has the bucket of each quarter that is asked for."""
    sessions = sessions_of(joined)
    bucket = buckets[sessions.quarters - joined.first]
    views, rows, visitors = row_totals(joined, buckets, count)
    columns = (
        views,
        visitors,
        rows,
        np.bincount(bucket, minlength=count),
        np.bincount(bucket[sessions.is_bounce], minlength=count),
        sums(bucket, sessions.page_views, count),
        sums(bucket, sessions.duration_ms, count),
        *medians(bucket, sessions.duration_ms, count),
    )
    return [BucketTotals(*each) for each in zip(*(c.tolist() for c in columns), strict=True)]


def row_totals(
    joined: JoinedParts, buckets: Numbers, count: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Page views, rows and distinct visitors of each bucket."""
    index = joined.index("totals", index_totals)
    if index is None:
        return _of_rows(joined, buckets, count)
    return _of_rows_indexed(joined, index, buckets, count)


def sessions_of(joined: JoinedParts) -> Sessions:
    """The sessions with a page view in the range, each as its rows in the range make it."""
    index = joined.index("totals", index_totals)
    if index is None:
        return _sessions(joined.columns(SESSIONS.name, *OF_SESSIONS))
    return _sessions_indexed(joined, index)


def _of_rows(joined: JoinedParts, buckets: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
    """Page views, rows and distinct visitors of each bucket."""
    names = (QUARTER_COLUMN, VISITOR_COLUMN, *COUNTS)
    tables = [joined.columns(table, *names) for table in TABLES]
    quarters, visitors, views, rows = (
        np.concatenate([table[name] for table in tables]) for name in names
    )
    of_row = buckets[quarters.astype(np.int64) - joined.first]
    distinct = joined.distinct(of_row, visitors, count)
    return sums(of_row, views, count), sums(of_row, rows, count), distinct


def _of_rows_indexed(
    joined: JoinedParts, index: TotalsIndex, buckets: Numbers, count: int
) -> tuple[Numbers, Numbers, Numbers]:
    found = index.of_rows(joined.first, buckets, count)
    if not joined.has_rest:
        return found
    flags = joined.rest_flags(TABLES, VISITOR_COLUMN)
    without, with_rest = (
        _of_rows(joined.of_flagged(VISITOR_COLUMN, flags, with_rest=each), buckets, count)
        for each in (False, True)  # a visitor of the rest may be counted already
    )
    views, rows, visitors = (
        all_ - before + after for all_, before, after in zip(found, without, with_rest, strict=True)
    )
    return views, rows, visitors


def _sessions_indexed(joined: JoinedParts, index: TotalsIndex) -> Sessions:
    """Those of the index, and those that the range cuts or that have rows in the rest anew."""
    within = index.within(joined.first, joined.end)
    at_start, at_end = index.crossing(joined.first), index.crossing(joined.end)
    cut = np.concatenate([at_start.keys, at_end.keys])
    if not joined.has_rest and not len(cut):
        return within
    flags = joined.rest_flags([SESSIONS.name], SESSION_COLUMN)
    windows = [joined]
    if joined.has_rest:
        within = within.of(~flags[within.keys])
    else:
        windows = joined.windows(at_start.end_quarters, at_end.start_quarters)
    flags[cut] = True
    return within.plus(_sessions(*(_flagged(each, flags) for each in windows)))


def _flagged(joined: JoinedParts, flags: Numbers) -> Mapping[str, Numbers]:
    """The rows of sessions that are flagged, and all of the rest."""
    own = joined.of_flagged(SESSION_COLUMN, flags, with_rest=True)
    return own.columns(SESSIONS.name, *OF_SESSIONS)


def _sessions(*rows: Mapping[str, Numbers]) -> Sessions:
    """The sessions of rows."""
    columns = {name: np.concatenate([each[name] for each in rows]) for name in OF_SESSIONS}
    keys, numbers = np.unique(columns[SESSION_COLUMN], return_inverse=True)
    sessions = join_sessions({**columns, SESSION_COLUMN: numbers}, len(keys))
    return structs.replace(sessions, keys=keys[sessions.keys])


def medians(buckets: Numbers, duration_ms: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """The two middle durations of each bucket; 0 where there are no sessions."""
    low, high = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for bucket, own in enumerate(_by_bucket(buckets, duration_ms, count)):
        if len(own):
            middle = [(len(own) - 1) // 2, len(own) // 2]
            low[bucket], high[bucket] = np.partition(own, middle)[middle]
    return low, high


def _by_bucket(buckets: Numbers, values: Numbers, count: int) -> Sequence[Numbers]:
    """The values of each bucket."""
    if count == 1:
        return [values]
    counts = np.bincount(buckets, minlength=count)
    order = np.argsort(smallest(buckets), kind="stable")  # fast for few bytes
    return np.split(values[order], np.cumsum(counts)[:-1])
