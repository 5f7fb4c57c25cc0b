"""Cohorts from parts: visitors by the bucket of their first row, and by each one with rows."""

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

GROUP = (1, None, 0)
"""The columns of the group that all visitors belong to."""


class Cohorts(OfBuckets, frozen=True):
    """A row for each cohort and bucket with visitors of both: their number."""

    max_buckets: int
    """A range that has more of them is answered by stored rows."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:
        numbers, count = quarters.numbers, len(quarters.numbers)
        if count > self.max_buckets:
            return None
        cohorts, buckets = _visits(joined, quarters.buckets, count)
        visitors = np.bincount(cohorts * count + buckets)
        return [
            (*GROUP, numbers[cell // count], numbers[cell % count], int(visitors[cell]))
            for cell in np.flatnonzero(visitors).tolist()
        ]


def _visits(joined: JoinedParts, buckets: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """The cohort and the bucket of each pair of a visitor and a bucket with rows of both."""
    tables = [joined.columns(table, QUARTER_COLUMN, VISITOR_COLUMN) for table in TABLES]
    quarters, visitors = (
        np.concatenate([table[name] for table in tables])
        for name in (QUARTER_COLUMN, VISITOR_COLUMN)
    )
    known = visitors != WITHOUT
    own = buckets[quarters[known].astype(np.int64) - joined.first]
    values = visitors[known].astype(np.int64) * count + own
    pairs = _distinct(values, joined.count(VISITOR_COLUMN) * count)
    of_visitor, own = np.divmod(pairs, count)
    is_first = np.concatenate([[True], of_visitor[1:] != of_visitor[:-1]])[: len(pairs)]
    cohort = own[is_first][np.cumsum(is_first) - 1]
    return cohort, own


def _distinct(values: Numbers, count: int) -> Numbers:
    """The distinct values, all below `count`, in ascending order."""
    if count > MAX_FLAGS:
        return np.unique(values)
    flags = np.zeros(count, np.bool_)
    flags[values] = True
    return np.flatnonzero(flags)
