"""Totals of buckets from parts: page views, visitors, sessions with their exact median duration."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import NEVER, least, sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN, smallest
from query.prepared.part_tables import QUARTER_MS, SECOND_PARTS, SESSIONLESS, SESSIONS
from query.standard.sql.definitions import BOUNCE_MS

TABLES = (SESSIONS.name, SESSIONLESS.name)
OF_SESSIONS = (SESSION_COLUMN, "start_ms", "span_ms", "others", "visible")


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
    names = ("quarter", "visitor", "views", "row_count")
    of_sessions = joined.columns(SESSIONS.name, *names, *OF_SESSIONS)
    others = joined.columns(SESSIONLESS.name, *names)
    rows = {name: np.concatenate([of_sessions[name], others[name]]) for name in names}
    of_row = buckets[rows["quarter"].astype(np.int64) - joined.first]
    session_count = joined.count(SESSION_COLUMN)
    sessions = join_sessions(of_sessions, session_count, buckets, joined.first)
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


def join_sessions(
    rows: Mapping[str, Numbers], session_count: int, buckets: Numbers, first: int
) -> Sessions:
    """One row for each session with a page view, from its rows in all quarters and parts."""
    keys = rows["session_key"].astype(np.int64)
    quarters = rows["quarter"].astype(np.int64) - first
    starts = quarters * QUARTER_MS + rows["start_ms"]
    viewed = rows["views"] > 0
    quarter = least(keys[viewed], quarters[viewed], session_count)
    kept = quarter != NEVER
    begin = least(keys, starts, session_count)[kept]
    end = -least(keys, -(starts + rows["span_ms"]), session_count)[kept]
    views, others, visible = (
        sums(keys, rows[name], session_count)[kept] for name in ("views", "others", "visible")
    )
    duration = np.maximum(end - begin, visible_ms(visible))
    bounce = (views == 1) & (others == 0) & (duration < BOUNCE_MS)
    return Sessions(buckets[quarter[kept]], views, duration, bounce.astype(np.int64))


def visible_ms(visible: Numbers) -> Numbers:
    """Milliseconds, rounded half away from 0 as a CAST of a DECIMAL is."""
    each = SECOND_PARTS // 1000
    rounded: Numbers = np.sign(visible) * ((np.abs(visible) + each // 2) // each)
    return rounded


def medians(sessions: Sessions, count: int) -> tuple[Numbers, Numbers]:
    """The two middle durations of each bucket; 0 where there are no sessions."""
    counts = np.bincount(sessions.bucket, minlength=count)
    order = np.argsort(smallest(sessions.bucket), kind="stable")  # fast for few bytes
    low, high = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for bucket, own in enumerate(np.split(sessions.duration_ms[order], np.cumsum(counts)[:-1])):
        if len(own):
            middle = [(len(own) - 1) // 2, len(own) // 2]
            low[bucket], high[bucket] = np.partition(own, middle)[middle]
    return low, high
