"""Distinct visitors of buckets between any two quarter-hours.

A visitor has an entry in each quarter-hour with rows of theirs, which names that of the entry
before. In a bucket the visitors are as many as the entries whose entry before is not in it. They
are searched for by quarter-hour, and looked up where buckets are of whole days.
"""

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.groups_index import index_groups, sums
from query.prepared.rollup import smallest

QUARTERS_A_DAY = 96
"""QuarterHours of a day in UTC."""
MOST_DAYS = 1_024
"""Days of a table, which has a number for each two of them."""


class VisitorsIndex(Struct, frozen=True, eq=False):
    """QuarterHours are numbers from `first`."""

    first: int
    """The quarter of the first row."""
    width: int
    entries: Numbers
    """One for each visitor and quarter, in ascending order: the quarter times `width`, plus
    one more than the quarter of the visitor's entry before, or 0. Of a type that holds the entries
    of all quarters, as those are searched for that may be in no row."""
    before: Numbers
    """How many of these come before each quarter."""
    of_days: Numbers
    """Of each day those without an entry before, or with one on a day before each day; without
    rows when there are too many days. Days are numbers from that of `first`."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.entries.nbytes + self.before.nbytes + self.of_days.nbytes

    def distinct(self, first: int, buckets: Numbers, count: int) -> Numbers:
        """Distinct visitors of buckets, given for each quarter from `first` on, in order."""
        if len(self.of_days) and _has_whole_days(first, buckets):
            return self._of_days(
                first // QUARTERS_A_DAY - self.first // QUARTERS_A_DAY,
                buckets[::QUARTERS_A_DAY],
                count,
            )
        quarters = np.arange(len(buckets)) + first - self.first
        begins = np.searchsorted(buckets, buckets) + first - self.first
        known = (quarters >= 0) & (quarters < len(self.before))
        quarters, begins = quarters[known], begins[known]
        wanted = quarters * self.width + np.maximum(begins, 0) + 1
        # searched for as entries are, so that they are not all copied
        ends = np.searchsorted(self.entries, wanted.astype(self.entries.dtype))
        return sums(buckets[known], ends - self.before[quarters], count)

    def _of_days(self, first: int, buckets: Numbers, count: int) -> Numbers:
        """The same of whole days."""
        days = np.arange(len(buckets)) + first
        begins = np.searchsorted(buckets, buckets) + first
        known = (days >= 0) & (days < len(self.of_days))
        visitors = self.of_days[days[known], np.maximum(begins[known], 0)]
        return sums(buckets[known], visitors, count)


def index_visitors(first: int, count: int, quarters: Numbers, visitors: Numbers) -> VisitorsIndex:
    """The entries of rows in `count` quarters from `first` on, which is quarter 0."""
    groups = np.zeros(len(quarters), np.uint8)
    index = index_groups(groups, visitors, quarters, groups)
    width = count + 1
    entries = (index.quarters.astype(np.int64) * width + index.previous)[index.previous < width]
    ordered = np.sort(entries.astype(smallest(np.array(count * width)).dtype))
    before = np.searchsorted(ordered, (np.arange(count) * width).astype(ordered.dtype))
    return VisitorsIndex(first, width, ordered, before, _of_days(first, count, ordered, width))


def _of_days(first: int, count: int, entries: Numbers, width: int) -> Numbers:
    day_count = (first % QUARTERS_A_DAY + count - 1) // QUARTERS_A_DAY + 1 if count else 0
    if day_count > MOST_DAYS:
        return np.zeros((0, 0), np.uint8)
    quarters, previous = np.divmod(entries.astype(np.int64), width)
    days = (quarters + first % QUARTERS_A_DAY) // QUARTERS_A_DAY
    days_before = np.where(
        previous > 0, (previous - 1 + first % QUARTERS_A_DAY) // QUARTERS_A_DAY + 1, 0
    )
    keys = days * (day_count + 1) + days_before
    counts = np.bincount(keys, minlength=day_count * (day_count + 1))
    return smallest(np.cumsum(counts.reshape(day_count, day_count + 1), axis=1))


def _has_whole_days(first: int, buckets: Numbers) -> bool:
    """Whether buckets begin and end with days."""
    begins = np.flatnonzero(buckets[1:] != buckets[:-1]) + 1
    return not (
        first % QUARTERS_A_DAY or len(buckets) % QUARTERS_A_DAY or (begins % QUARTERS_A_DAY).any()
    )
