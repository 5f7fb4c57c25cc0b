"""Numbers of groups: what the rows of each add up to, from the group of each row."""

import numpy as np

from query.engine.column_rows import Numbers

EXACT_FLOATS = 2**53
"""Up to this, whole numbers are exact as floating point numbers."""
NEVER = np.iinfo(np.int64).max
"""The least value of a group without any."""


def sums(groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The sum of the values of each group."""
    greatest_value = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    if greatest_value * len(values) < EXACT_FLOATS:
        return np.bincount(groups, values, count).astype(np.int64)
    added = np.zeros(count, np.int64)
    np.add.at(added, groups, values.astype(np.int64))
    return added


def distinct_values(groups: Numbers, values: Numbers, count: int, without: int) -> Numbers:
    """The number of distinct values of each group; `without` is not counted."""
    order = np.lexsort((values, groups))
    values, groups = values[order], groups[order]
    is_same = (values[1:] == values[:-1]) & (groups[1:] == groups[:-1])
    is_first = np.concatenate([[True], ~is_same])[: len(order)]
    return np.bincount(groups[is_first & (values != without)], minlength=count)


def least(groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The least value of each group, or NEVER."""
    found = np.full(count, NEVER)
    np.minimum.at(found, groups, values)
    return found


def greatest(groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The greatest value of each group, none of them below 0."""
    found = np.zeros(count, np.int64)
    np.maximum.at(found, groups, values)
    return found
