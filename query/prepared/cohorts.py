"""Cohorts from parts: visitors by the bucket of their first row, and by each one with rows."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.active_buckets import active_buckets
from query.prepared.form_ranges import OfBuckets
from query.prepared.joined_parts import JoinedParts
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
    visitors, own = active_buckets(joined, buckets, count)
    is_first = np.concatenate([[True], visitors[1:] != visitors[:-1]])[: len(visitors)]
    cohort = own[is_first][np.cumsum(is_first) - 1]
    return cohort, own
