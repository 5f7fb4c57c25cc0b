"""Totals of buckets from parts: page views, visitors, sessions with their exact median duration."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part_tables import QUARTER_MS, SECOND_PARTS, SESSIONLESS, SESSIONS
from query.standard.sql.definitions import BOUNCE_MS

TABLES = (SESSIONS.name, SESSIONLESS.name)
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
    of_sessions, others = joined.columns(SESSIONS.name), joined.columns(SESSIONLESS.name)
    names = ("quarter", "visitor", "views", "row_count")
    rows = {name: np.concatenate([of_sessions[name], others[name]]) for name in names}
    of_row = buckets[rows["quarter"].astype(np.int64) - joined.first]
    sessions = join_sessions(of_sessions, buckets, joined.first)
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
    repeated = _repeated(rows["session_key"])
    alone = np.ones(len(rows["session_key"]), np.bool_)
    alone[repeated] = False
    alone &= rows["views"] > 0
    made = [
        _sessions({name: values[alone] for name, values in rows.items()}, buckets, first),
        _sessions(_joined({name: rows[name][repeated] for name in rows}), buckets, first),
    ]
    return Sessions(*(np.concatenate(columns) for columns in zip(*map(astuple, made), strict=True)))


def _repeated(keys: Numbers) -> Numbers:
    """The positions of the rows whose session has several, in the order of their sessions."""
    order = np.argsort(keys)
    ordered = keys[order]
    same = np.concatenate([[False], ordered[1:] == ordered[:-1], [False]])[: len(keys) + 1]
    repeated: Numbers = order[same[:-1] | same[1:]]
    return repeated


def _joined(rows: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    """One row for each session with a page view; rows are in the order of their sessions.

    Its quarter is that of the first page view.
    """
    keys = rows["session_key"]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    if not len(starts):
        return rows
    quarter, start, span, views, others, visible = (
        rows[name].astype(np.int64)
        for name in ("quarter", "start_ms", "span_ms", "views", "others", "visible")
    )
    start += quarter * QUARTER_MS
    added = {"views": views, "others": others, "visible": visible}
    joined = {name: np.add.reduceat(each, starts) for name, each in added.items()}
    begins = np.minimum.reduceat(start, starts)
    joined["span_ms"] = np.maximum.reduceat(start + span, starts) - begins
    joined["quarter"] = np.minimum.reduceat(np.where(views > 0, quarter, NEVER), starts)
    kept = joined["views"] > 0
    return {name: each[kept] for name, each in joined.items()}


def _sessions(rows: Mapping[str, Numbers], buckets: Numbers, first: int) -> Sessions:
    """Sessions, each from one row with a page view."""
    duration = np.maximum(rows["span_ms"], visible_ms(rows["visible"].astype(np.int64)))
    bounce = (rows["views"] == 1) & (rows["others"] == 0) & (duration < BOUNCE_MS)
    bucket = buckets[rows["quarter"].astype(np.int64) - first]
    return Sessions(bucket, rows["views"].astype(np.int64), duration, bounce.astype(np.int64))


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
