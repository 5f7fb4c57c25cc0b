"""RowSums: what the rows of parts add up to by several columns of numbers, part after part."""

from collections.abc import Sequence
from math import prod

import numpy as np

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import distinct_values, number_combinations, sums
from query.prepared.not_prepared import TOO_MANY_GROUPS, NotPrepared
from query.prepared.part import smallest

MAX_SPACE = 2**17
"""Possible groups up to which each has sums from the start: what is added to stays in the cache."""
MAX_NUMBERS = 24_000_000
"""Rows of more possible groups than that, times their columns and what is counted: they are sorted,
and take 10 to 20 bytes for each."""
MAX_VALUES = 96_000_000
"""The same of fewer groups, of what is counted once in each: 4 bytes for each."""


class RowSums:
    """Sums, and columns of which distinct values are counted, of each group of rows."""

    def __init__(self, sizes: Sequence[int], sum_count: int, value_count: int) -> None:
        """With the number that those of each column are below; without columns is one group."""
        self._sizes = sizes
        self._space = prod(sizes)
        self._is_dense = self._space <= MAX_SPACE
        self._sums = np.zeros((sum_count, self._space if self._is_dense else 0), np.int64)
        self._kept_numbers = 0
        self._keys: list[Numbers] = []
        self._columns: Sequence[list[Numbers]] = [[] for _ in sizes]
        self._summed: Sequence[list[Numbers]] = [[] for _ in range(sum_count)]
        self._values: Sequence[list[Numbers]] = [[] for _ in range(value_count)]

    def add(
        self, columns: Sequence[Numbers], summed: Sequence[Numbers], values: Sequence[Numbers]
    ) -> None:
        """Add the rows of a part; NotPrepared when they and the possible groups are too many."""
        of_row = len(values) if self._is_dense else len(columns) + len(summed) + len(values)
        self._kept_numbers += len(summed[0]) * of_row
        if self._kept_numbers > (MAX_VALUES if self._is_dense else MAX_NUMBERS):
            raise NotPrepared(TOO_MANY_GROUPS)
        for kept, own in zip(self._values, values, strict=True):
            kept.append(own)
        if self._is_dense:
            self._add_to_sums(columns, summed)
            return
        for kept, own in zip((*self._columns, *self._summed), (*columns, *summed), strict=True):
            kept.append(own)

    def _add_to_sums(self, columns: Sequence[Numbers], summed: Sequence[Numbers]) -> None:
        keys = columns[0].astype(np.int64) if columns else np.zeros(len(summed[0]), np.int64)
        for own, size in zip(columns[1:], self._sizes[1:], strict=True):
            keys *= size
            keys += own
        if self._values:
            self._keys.append(smallest(keys))
        for i, own in enumerate(summed):
            weights = own if own.max(initial=0) > 1 or not own.all() else None
            self._sums[i] += np.bincount(keys, weights, self._space).astype(np.int64)

    def groups(self) -> "SummedGroups":
        """The groups that have rows, in the order of their columns; of no columns there is one."""
        if not self._is_dense:
            columns = [np.concatenate(each) for each in self._columns]
            sized = list(zip(columns, self._sizes, strict=True))
            found, of_rows = number_combinations(sized, len(columns[0]))
            count = len(found[0])
            added = [sums(of_rows, np.concatenate(each), count) for each in self._summed]
            return SummedGroups(found, added, of_rows, count, self._values)
        at = np.flatnonzero(self._sums[0]) if self._sizes else np.zeros(1, np.int64)
        found = np.unravel_index(at, self._sizes) if self._sizes else ()
        of_rows = np.concatenate(self._keys) if self._keys else np.empty(0, np.int32)
        return SummedGroups(found, list(self._sums[:, at]), of_rows, self._space, self._values, at)


class SummedGroups:
    """The groups of rows that were summed up."""

    def __init__(
        self,
        columns: Sequence[Numbers],
        added: Sequence[Numbers],
        of_rows: Numbers,
        number_count: int,
        values: Sequence[Sequence[Numbers]],
        kept: Numbers | None = None,
    ) -> None:
        self.columns = columns
        """The numbers of each group."""
        self.sums = added
        """By column that was summed: those of each group, which has a row if the first is not 0."""
        self._of_rows = of_rows
        self._number_count = number_count
        self._values = values
        self._kept = kept

    def distinct(self, i: int, value_count: int) -> Numbers:
        """The distinct values of a column in each group, all below `value_count`; 0 is none."""
        values = np.concatenate(self._values[i])
        counts = distinct_values(self._of_rows, values, self._number_count, value_count)
        return counts if self._kept is None else counts[self._kept]
