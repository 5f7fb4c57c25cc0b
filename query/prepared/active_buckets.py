"""Buckets in which visitors were active, from parts: how many, and changes of rolling windows."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.form_ranges import OfBuckets
from query.prepared.group_numbers import MAX_FLAGS
from query.prepared.joined_parts import JoinedParts
from query.prepared.numbering import WITHOUT
from query.prepared.part import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.quarters import Quarters
from query.prepared.totals_index import TABLES
from query.request.time_zones import DAY_MS

NEVER_AGAIN = np.iinfo(np.int64).max


class VisitorsByActivity(OfBuckets, frozen=True):
    """A row for each number of buckets: the visitors active in so many, twice, and all of them."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
        visitors, _ = active_buckets(joined, quarters.buckets, len(quarters.numbers))
        _, counts = np.unique(visitors, return_counts=True)
        numbers, own = (each.tolist() for each in np.unique(counts, return_counts=True))
        return [(number, n, n, len(counts)) for number, n in zip(numbers, own, strict=True)]


class WindowChanges(OfBuckets, frozen=True):
    """A row for each day on which visitors enter or leave windows: the change of each window."""

    windows: tuple[int, ...]
    """Their days. A visitor leaves a window so many days after an active one, or on the next."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
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


def active_buckets(joined: JoinedParts, buckets: Numbers, count: int) -> tuple[Numbers, Numbers]:
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
