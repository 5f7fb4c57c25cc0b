"""Cohorts from parts: visitors by the bucket of their first row, and by each one with rows."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.form_ranges import OfBuckets
from query.prepared.joined_parts import JoinedParts
from query.prepared.numbering import WITHOUT
from query.prepared.part import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.quarters import Quarters
from query.prepared.totals_index import TABLES

GROUP = (1, None, 0)
"""The columns of the group that all visitors belong to."""


class Cohorts(OfBuckets, frozen=True):
    """A row for each cohort and bucket with visitors of both: their number."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
        count = len(quarters.numbers)
        cohorts, buckets = _visits(joined, quarters.buckets, count)
        cells, visitors = np.unique(cohorts * count + buckets, return_counts=True)
        numbers = quarters.numbers
        return [
            (*GROUP, numbers[cell // count], numbers[cell % count], each)
            for cell, each in zip(cells.tolist(), visitors.tolist(), strict=True)
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
    pairs = np.unique(visitors[known].astype(np.int64) * count + own)
    of_visitor, own = np.divmod(pairs, max(count, 1))
    is_first = np.concatenate([[True], of_visitor[1:] != of_visitor[:-1]])[: len(pairs)]
    cohort = own[is_first][np.cumsum(is_first) - 1]
    return cohort, own
