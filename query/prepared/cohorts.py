"""Visitors by the buckets in which they were active: retention, lifecycle and active visitors."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.groups_index import MAX_FLAGS, number_keys
from query.prepared.known_visitors import are_among
from query.prepared.quarter_hours import BucketPlan, NewVisitorPlan, QuarterHours
from query.prepared.rollup import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_view import RollupView
from query.prepared.shared_ids import WITHOUT
from query.prepared.totals_index import TABLES
from query.request.time_zones import DAY_MS

NEVER_AGAIN = np.iinfo(np.int64).max


class VisitorsByActivity(BucketPlan, frozen=True):
    """A row for each number of buckets: the visitors active in so many, twice, and all of them."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        visitors, _ = active_buckets(joined, quarters.buckets, len(quarters.numbers))
        _, counts = np.unique(visitors, return_counts=True)
        numbers, own = (each.tolist() for each in np.unique(counts, return_counts=True))
        return [(number, n, n, len(counts)) for number, n in zip(numbers, own, strict=True)]


class WindowChanges(BucketPlan, frozen=True):
    """A row for each day on which visitors enter or leave windows: the change of each window."""

    windows: tuple[int, ...]
    """Their days. A visitor leaves a window so many days after an active one, or on the next."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        visitors, own = active_buckets(joined, quarters.buckets, len(quarters.numbers))
        first = min(quarters.numbers, default=0)
        days = (np.array(quarters.numbers, np.int64) - first)[own] // DAY_MS
        following = np.full(len(days), NEVER_AGAIN)
        same = np.flatnonzero(visitors[1:] == visitors[:-1])
        following[same] = days[same + 1]
        size = int(days.max(initial=0)) + max(self.windows) + 1
        entered = np.bincount(days, minlength=size)
        ends = (np.minimum(following, days + each) for each in self.windows)
        changes = np.array([entered - np.bincount(each, minlength=size) for each in ends])
        changed = np.flatnonzero(changes.any(axis=0))
        return [(first + day * DAY_MS, *changes[:, day].tolist()) for day in changed.tolist()]


def active_buckets(joined: RollupView, buckets: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Each pair of a visitor and one of `count` buckets with rows of both, in this order."""
    tables = [joined.columns(table, QUARTER_COLUMN, VISITOR_COLUMN) for table in TABLES]
    quarters, visitors = (
        np.concatenate([table[name] for table in tables])
        for name in (QUARTER_COLUMN, VISITOR_COLUMN)
    )
    known = visitors != WITHOUT
    own = buckets[quarters[known].astype(np.int64) - joined.first]
    values = visitors[known].astype(np.int64) * count + own
    of_visitor, of_bucket = np.divmod(
        _distinct(values, joined.count(VISITOR_COLUMN) * count), count
    )
    return of_visitor, of_bucket


def _distinct(values: Numbers, count: int) -> Numbers:
    """The distinct values, all below `count`, in ascending order."""
    if count > MAX_FLAGS:
        return np.unique(values)
    flags = np.zeros(count, np.bool_)
    flags[values] = True
    return np.flatnonzero(flags)


NO_PERIOD = 0
"""In place of the period before one of a visitor, which is numbered from 1."""


class LifecyclePeriods(NewVisitorPlan, frozen=True):
    """A row for each period, the visitors' period before it, and whether they are new.

    Visitors are new in their first period of the range if they have no event before the range.
    """

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        numbers, count = quarters.numbers, len(quarters.numbers)
        visitors, own = active_buckets(joined, quarters.buckets, count)
        last, is_new = _before(joined, visitors, own)
        keys = (own * (count + 1) + last) * 2 + is_new
        found, groups = number_keys(keys, count * (count + 1) * 2)
        periods, new = np.divmod(found, 2)
        of_period, of_last = np.divmod(periods, count + 1)
        columns = (each.tolist() for each in (of_period, of_last, new, np.bincount(groups)))
        return [
            (numbers[period], numbers[before - 1] if before else None, is_first, visitor_count)
            for period, before, is_first, visitor_count in zip(*columns, strict=True)
        ]


def _before(joined: RollupView, visitors: Numbers, own: Numbers) -> tuple[Numbers, Numbers]:
    """For each active period of a visitor, in order, the one before it and whether it is new."""
    is_first = np.concatenate([[True], visitors[1:] != visitors[:-1]])[: len(visitors)]
    last = np.full(len(own), NO_PERIOD)
    again = np.flatnonzero(~is_first)
    last[again] = own[again - 1] + 1
    is_new = is_first.astype(np.int64)
    if len(joined.earlier):
        first = np.flatnonzero(is_first)
        is_new[first] = ~are_among(joined.hashes(VISITOR_COLUMN, visitors[first]), joined.earlier)
    return last, is_new


GROUP = (1, None, 0)
"""The columns of the group that all visitors belong to."""


class Cohorts(BucketPlan, frozen=True):
    """A row for each cohort and bucket with visitors of both: their number."""

    max_buckets: int
    """A range that has more of them is answered by stored rows."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:
        pairs = _pairs(joined, quarters, self.max_buckets)
        return pairs and _rows(*pairs, quarters)


class CohortsOfNew(NewVisitorPlan, frozen=True):
    """The same of visitors who have no event before the range."""

    max_buckets: int
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:
        pairs = _pairs(joined, quarters, self.max_buckets)
        if pairs is None:
            return None
        visitors, buckets = pairs
        if len(joined.earlier):
            hashes = joined.hashes(VISITOR_COLUMN, visitors)
            is_new = np.flatnonzero(~are_among(hashes, joined.earlier))
            visitors, buckets = visitors[is_new], buckets[is_new]
        return _rows(visitors, buckets, quarters)


def _pairs(
    joined: RollupView, quarters: QuarterHours, max_buckets: int
) -> tuple[Numbers, Numbers] | None:
    """Visitors and the buckets of their rows, pair by pair; None for too many buckets."""
    count = len(quarters.numbers)
    return active_buckets(joined, quarters.buckets, count) if count <= max_buckets else None


def _rows(visitors: Numbers, buckets: Numbers, quarters: QuarterHours) -> Sequence[Row]:
    """The cells of visitors, in order, with their buckets in order."""
    numbers, count = quarters.numbers, len(quarters.numbers)
    cells = np.bincount(_cohorts(visitors, buckets) * count + buckets)
    return [
        (*GROUP, numbers[cell // count], numbers[cell % count], int(cells[cell]))
        for cell in np.flatnonzero(cells).tolist()
    ]


def _cohorts(visitors: Numbers, buckets: Numbers) -> Numbers:
    """The cohort of each pair of a visitor and a bucket."""
    is_first = np.concatenate([[True], visitors[1:] != visitors[:-1]])[: len(visitors)]
    cohorts: Numbers = buckets[is_first][np.cumsum(is_first) - 1]
    return cohorts
