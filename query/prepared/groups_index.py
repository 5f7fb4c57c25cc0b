"""Groups index: counts and distinct visitors of each group between any two quarter-hours.

Every entry names the quarter-hour in which the same visitor was in the group before. Within a range
the entries whose predecessor lies before the range are as many as there are visitors: distinct
visitors of any range are counted in one pass, without sorting or sets.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.rollup import smallest
from query.prepared.shared_ids import WITHOUT

EXACT_FLOATS = 2**53
"""Up to this, whole numbers are exact as floating point numbers."""
MAX_FLAGS, FLAGS_A_ROW = 2**26, 8
"""Bytes of a table of groups by values, in all and for each row; beyond them pairs are sorted."""
NEVER = np.iinfo(np.int64).max
"""The least value of a group without any."""
MAX_KEYS = 2**23
"""Possible keys up to which they are counted by position; beyond it they are sorted."""
KEY_BITS = 63
"""Of a key that several numbers make; what needs more is sorted column by column."""


def sort_order(keys: Numbers) -> Numbers:
    """The positions of keys from 0 on in their order, equal ones in that of their positions.

    Keys with their positions are sorted as numbers, in a quarter of the time of a stable argsort.
    """
    width = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + width > KEY_BITS:
        return np.argsort(keys, kind="stable")
    placed = (keys.astype(np.int64) << width) | np.arange(len(keys))
    placed.sort()
    return placed & ((1 << width) - 1)


def number_keys(keys: Numbers, space: int) -> tuple[Numbers, Numbers]:
    """The keys that occur, in order, and for each row the position of its key in them."""
    if space > MAX_KEYS:
        found, groups = np.unique(keys, return_inverse=True)
        return found, groups
    found = np.flatnonzero(np.bincount(keys, minlength=space))
    positions = np.zeros(space, np.int64)
    positions[found] = np.arange(len(found))
    return found, positions[keys]


def number_combinations(
    columns: Sequence[tuple[Numbers, int]], row_count: int
) -> tuple[Sequence[Numbers], Numbers]:
    """The combinations of numbers that occur, in order, and for each row the position of its own.

    Each column has a number of each row, and the number that all of these are below.
    """
    keys, space = np.zeros(row_count, np.int64), 1
    stages: list[tuple[Numbers, Sequence[int]]] = []
    counts: list[int] = []
    for numbers, count in columns:
        if space > 1 and space * count > MAX_KEYS:  # first those that occur so far
            found, keys = number_keys(keys, space)
            stages.append((found, counts))
            space, counts = max(1, len(found)), []
        keys = keys * max(1, count) + numbers
        space *= max(1, count)
        counts.append(max(1, count))
    found, groups = number_keys(keys, space)
    return _of_columns([*stages, (found, counts)]), groups


def _of_columns(stages: Sequence[tuple[Numbers, Sequence[int]]]) -> Sequence[Numbers]:
    """The numbers of each column, from keys whose first part is a position in those before."""
    of_columns: list[Numbers] = []
    keys, _ = stages[-1]
    for i in range(len(stages) - 1, -1, -1):
        for count in reversed(stages[i][1]):
            keys, own = np.divmod(keys, count)
            of_columns.insert(0, own)
        keys = stages[i - 1][0][keys] if i else keys
    return of_columns


def sums(groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The sum of the values of each group."""
    greatest_value = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    if greatest_value * len(values) < EXACT_FLOATS:
        return np.bincount(groups, values, count).astype(np.int64)
    added = np.zeros(count, np.int64)
    np.add.at(added, groups, values.astype(np.int64))
    return added


def distinct_values(groups: Numbers, values: Numbers, count: int, value_count: int) -> Numbers:
    """The number of distinct values of each group; they are below `value_count`, 0 is none."""
    if count * value_count <= min(MAX_FLAGS, FLAGS_A_ROW * len(values)):
        flags = np.zeros((count, value_count), np.bool_)
        flags[groups, values] = True
        counts: Numbers = np.count_nonzero(flags[:, 1:], axis=1)
        return counts
    if not values.all():
        has_value = values != 0
        groups, values = groups[has_value], values[has_value]
    kind = np.min_scalar_type(count * value_count)
    pairs = groups.astype(kind)
    pairs *= kind.type(value_count)
    pairs += values.astype(kind, copy=False)
    pairs.sort()
    again = pairs[1:][pairs[1:] == pairs[:-1]]
    borders = (np.arange(count + 1, dtype=np.int64) * value_count).astype(kind)
    return np.diff(np.searchsorted(pairs, borders)) - np.diff(np.searchsorted(again, borders))


def least(groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The least value of each group, or NEVER."""
    found = np.full(count, NEVER)
    np.minimum.at(found, groups, _as(found, values))
    return found


def greatest(groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The greatest value of each group, none of them below 0."""
    found = np.zeros(count, np.int64)
    np.maximum.at(found, groups, _as(found, values))
    return found


def _as(found: Numbers, values: Numbers) -> Numbers:
    """The values as of the same type: `ufunc.at` takes twenty times as long to convert each."""
    return values.astype(found.dtype, copy=False)


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
