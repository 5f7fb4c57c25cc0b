"""Ranked values of groups, for exact percentiles, and their sums."""

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import KEY_BITS, sums

MAX_INT = 2**63 - 1


class RankedValues(Struct, frozen=True, eq=False):
    """The values of groups, those of each in ascending order."""

    values: Numbers
    """Group after group."""
    borders: Numbers
    """Where those of each group begin, and where those of the last end."""

    @property
    def counts(self) -> Numbers:
        """The number of values of each group."""
        return np.diff(self.borders)

    def neighbors(self, percent: int) -> tuple[Numbers, Numbers]:
        """The two values that a percentile of each group lies between; 0 of a group without any."""
        counts = self.counts
        places = (counts - 1) * percent
        return self._at(places // 100), self._at(-(-places // 100))

    def _at(self, places: Numbers) -> Numbers:
        """The value at a place among those of each group."""
        found = np.zeros(len(places), np.int64)
        having = np.flatnonzero(self.counts)
        found[having] = self.values[self.borders[having] + places[having]]
        return found


def sum_values(groups: Numbers, values: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """The sum of the values of each of `count` groups, and their number.

    Sums are numbers of Python where 64 bits do not hold them.
    """
    counts = np.bincount(groups, minlength=count)
    greatest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    if greatest * len(values) <= MAX_INT:
        return sums(groups, values, count), counts
    added = np.zeros(count, object)
    np.add.at(added, groups, values.astype(object))
    return added, counts


def rank_values(groups: Numbers, values: Numbers, count: int) -> RankedValues:
    """The values of `count` groups, from the group and the value of each row."""
    borders = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=borders[1:])
    least = int(values.min(initial=0))
    width = (int(values.max(initial=0)) - least).bit_length()
    if count.bit_length() + width > KEY_BITS:
        order = np.lexsort((values, groups))
        return RankedValues(values[order].astype(np.int64), borders)
    keys = groups.astype(np.int64) << width
    keys |= values.astype(np.int64) - least
    keys.sort()
    keys &= (1 << width) - 1
    keys += least
    return RankedValues(keys, borders)
