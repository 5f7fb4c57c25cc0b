"""Index of groups: page views and distinct visitors of each group between any two quarters.

Every entry names the quarter in which the same visitor was in the group before. Within a range the
entries whose predecessor lies before the range are as many as there are visitors: distinct visitors
of any range are counted in one pass, without sorting or sets.
"""

from typing import Any

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import KEY_BITS
from query.prepared.numbering import WITHOUT
from query.prepared.part import smallest

NEVER_BEFORE = 0
PORTION = 2**16
"""Entries that are counted at once: what is made of them stays in the cache of the processor."""


class GroupIndex(Struct, frozen=True, eq=False):
    """Entries in the order of group, visitor and quarter."""

    first: int
    """The quarter that is number 0."""
    borders: Numbers
    """Where the entries of each group begin; no group is without any."""
    quarters: Numbers
    previous: Numbers
    """One more than the quarter of the same visitor's entry before, or NEVER_BEFORE; that of
    entries without a visitor is beyond all quarters."""
    views: Numbers

    @property
    def size(self) -> int:
        """Bytes in memory."""
        columns = (self.borders, self.quarters, self.previous, self.views)
        return sum(each.nbytes for each in columns)

    def between(self, first: int, end: int) -> tuple[Numbers, Numbers]:
        """Page views and distinct visitors of each group in these quarters."""
        if not len(self.quarters):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        low, width = _relative(self.first, first, end, self.quarters.dtype)
        views, visitors = np.zeros((2, len(self.borders)), np.int64)
        for start in range(0, len(self.quarters), PORTION):
            part = slice(start, start + PORTION)
            quarters = self.quarters[part]
            inside = (quarters - quarters.dtype.type(low)) < width  # wraps below `low`
            counted = inside & (self.previous[part] <= low)
            groups, starts = self._starts(start, start + len(quarters))
            views[groups] += _sums(self.views[part] * inside, starts)
            visitors[groups] += _sums(counted, starts)
        return views, visitors

    def _starts(self, start: int, end: int) -> tuple[slice, Numbers]:
        """The groups that have some of these entries, and where these begin among them."""
        low = int(np.searchsorted(self.borders, start, side="right")) - 1
        groups = slice(low, int(np.searchsorted(self.borders, end)))
        return groups, np.maximum(self.borders[groups] - start, 0)


def _sums(values: Numbers, starts: Numbers) -> Numbers:
    """The sums of a portion from each start on, added up in as few bytes as hold them."""
    kind = np.uint32 if values.itemsize <= 2 else np.int64
    return np.add.reduceat(values.astype(kind), starts, dtype=kind).astype(np.int64)


def _relative(origin: int, first: int, end: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """The first quarter and their number, cut to what the type of quarters holds."""
    most = int(np.iinfo(dtype).max)
    low = min(max(first - origin, 0), most)
    return low, max(0, min(end - origin, most) - low)


def index_groups(
    groups: Numbers, visitors: Numbers, quarters: Numbers, views: Numbers
) -> GroupIndex:
    """The index of rows; groups are numbered from 0, and each has a row."""
    first = int(quarters.min()) if len(quarters) else 0
    columns = [groups, visitors, quarters.astype(np.int64) - first, views]
    groups, visitors, quarters, views = _sorted(columns)
    same = (groups[1:] == groups[:-1]) & (visitors[1:] == visitors[:-1])
    previous = np.zeros(len(quarters), np.int64)
    previous[1:] = np.where(same, quarters[:-1] + 1, NEVER_BEFORE)
    kind = np.min_scalar_type(int(quarters.max(initial=0)) + 2)
    previous[visitors == WITHOUT] = np.iinfo(kind).max
    is_first = np.concatenate([[True], groups[1:] != groups[:-1]])[: len(groups)]
    borders = np.flatnonzero(is_first)
    return GroupIndex(first, borders, quarters.astype(kind), previous.astype(kind), smallest(views))


def _sorted(columns: list[Numbers]) -> list[Numbers]:
    """Columns of whole numbers, none below 0, in their order; the first column leads."""
    bits = [int(each.max(initial=0)).bit_length() for each in columns]
    if sum(bits) > KEY_BITS:
        order = np.lexsort(columns[::-1])
        return [each[order].astype(np.int64) for each in columns]
    keys = np.zeros(len(columns[0]), np.int64)
    for each, width in zip(columns, bits, strict=True):
        keys = (keys << width) | each.astype(np.int64)
    keys.sort()
    parted: list[Numbers] = []
    for width in reversed(bits):
        parted.insert(0, keys & ((1 << width) - 1))
        keys >>= width
    return parted
