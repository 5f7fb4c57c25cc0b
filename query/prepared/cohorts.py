"""Cohorts from parts: visitors by the bucket of their first row, and by each one with rows."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.active_buckets import active_buckets
from query.prepared.earlier_visitors import are_among
from query.prepared.form_ranges import AfterEarlier, OfBuckets
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import VISITOR_COLUMN
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
        pairs = _pairs(joined, quarters, self.max_buckets)
        return pairs and _rows(*pairs, quarters)


class CohortsOfNew(AfterEarlier, frozen=True):
    """The same of visitors who have no event before the range."""

    max_buckets: int
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:
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
    joined: JoinedParts, quarters: Quarters, max_buckets: int
) -> tuple[Numbers, Numbers] | None:
    """Visitors and the buckets of their rows, pair by pair; None for too many buckets."""
    count = len(quarters.numbers)
    return active_buckets(joined, quarters.buckets, count) if count <= max_buckets else None


def _rows(visitors: Numbers, buckets: Numbers, quarters: Quarters) -> Sequence[Row]:
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
