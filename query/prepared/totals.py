"""Totals of buckets from parts: page views, visitors, sessions with their exact median duration."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.joined_parts import JoinedParts
from query.prepared.part_tables import QUARTER_MS, ROWS, SECOND_PARTS, SESSIONS
from query.standard.sql.definitions import BOUNCE_MS

TABLES = (ROWS.name, SESSIONS.name)
NEVER = np.iinfo(np.int64).max
DURATION_BITS = 45
"""Of a number that begins with the bucket of a session."""


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


class Sessions(Struct, frozen=True, eq=False):
    """Sessions with a page view, each in the bucket of its first one."""

    bucket: Numbers
    page_views: Numbers
    duration_ms: Numbers
    is_bounce: Numbers


def bucket_totals(joined: JoinedParts, buckets: Numbers, count: int) -> Sequence[BucketTotals]:
    """The totals of `count` buckets; `buckets` has the bucket of each quarter that is asked for."""
    rows = joined.columns(ROWS.name)
    of_row = buckets[rows["quarter"].astype(np.int64) - joined.first]
    sessions = join_sessions(joined.columns(SESSIONS.name), buckets, joined.first)
    low, high = medians(sessions, count)
    columns = (
        sums(of_row, rows["views"], count),
        joined.distinct(of_row, rows["visitor"], count),
        sums(of_row, rows["row_count"], count),
        np.bincount(sessions.bucket, minlength=count),
        sums(sessions.bucket, sessions.is_bounce, count),
        sums(sessions.bucket, sessions.page_views, count),
        sums(sessions.bucket, sessions.duration_ms, count),
        low,
        high,
    )
    return [BucketTotals(*each) for each in zip(*(c.tolist() for c in columns), strict=True)]


def join_sessions(rows: Mapping[str, Numbers], buckets: Numbers, first: int) -> Sessions:
    """One row for each session with a page view, from its rows in all quarters and parts."""
    order = np.argsort(rows["session_key"])
    keys = rows["session_key"][order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    quarter, start, span, views, others, visible = (
        rows[name][order].astype(np.int64)
        for name in ("quarter", "start_ms", "span_ms", "views", "others", "visible")
    )
    start += quarter * QUARTER_MS
    first_view = _least(np.where(views > 0, quarter, NEVER), starts)
    begins, ends = _least(start, starts), _greatest(start + span, starts)
    views, others, visible = (_added(each, starts) for each in (views, others, visible))
    duration = np.maximum(ends - begins, visible_ms(visible))
    bounce = (views == 1) & (others == 0) & (duration < BOUNCE_MS)
    kept = views > 0
    bucket = buckets[first_view[kept] - first]
    return Sessions(bucket, views[kept], duration[kept], bounce[kept].astype(np.int64))


def visible_ms(visible: Numbers) -> Numbers:
    """Milliseconds, rounded half away from 0 as a CAST of a DECIMAL is."""
    each = SECOND_PARTS // 1000
    rounded: Numbers = np.sign(visible) * ((np.abs(visible) + each // 2) // each)
    return rounded


def medians(sessions: Sessions, count: int) -> tuple[Numbers, Numbers]:
    """The two middle durations of each bucket; 0 where there are no sessions."""
    ranked = np.sort((sessions.bucket << DURATION_BITS) + sessions.duration_ms)
    counts = np.bincount(sessions.bucket, minlength=count)
    before = np.cumsum(counts) - counts
    there = counts > 0
    low, high = np.zeros(count, np.int64), np.zeros(count, np.int64)
    rest = (1 << DURATION_BITS) - 1
    low[there] = ranked[(before + (counts + 1) // 2 - 1)[there]] & rest
    high[there] = ranked[(before + (counts + 2) // 2 - 1)[there]] & rest
    return low, high


def sums(groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The sum of the values of each group."""
    added = np.zeros(count, np.int64)
    np.add.at(added, groups, values.astype(np.int64))
    return added


def _least(values: Numbers, starts: Numbers) -> Numbers:
    return np.minimum.reduceat(values, starts) if len(starts) else values


def _greatest(values: Numbers, starts: Numbers) -> Numbers:
    return np.maximum.reduceat(values, starts) if len(starts) else values


def _added(values: Numbers, starts: Numbers) -> Numbers:
    return np.add.reduceat(values, starts) if len(starts) else values
