"""Numbers of groups, from the group of each row."""

import numpy as np
import pytest

from query.prepared import group_numbers


def test_sums_too_large_for_floating_point_are_exact() -> None:
    groups, values = np.array([0, 1, 0]), np.array([2**60 + 1, 5, 2**60 + 2])

    assert group_numbers.sums(groups, values, 3).tolist() == [2**61 + 3, 5, 0]
    assert group_numbers.sums(groups, -values, 3).tolist() == [-(2**61) - 3, -5, 0]


@pytest.mark.parametrize("flags", [2**26, 1])
def test_a_value_counts_once_in_each_group(flags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_numbers, "MAX_FLAGS", flags)
    groups, values = np.array([0, 1, 0, 0, 1, 2]), np.array([7, 7, 7, 8, 0, 0])

    assert group_numbers.distinct_values(groups, values, 4, 9).tolist() == [2, 1, 0, 0]


def test_the_greatest_value_of_each_group() -> None:
    groups, values = np.array([0, 2, 0]), np.array([7, 9, 8])

    assert group_numbers.greatest(groups, values, 3).tolist() == [8, 0, 9]


def test_the_least_value_of_each_group() -> None:
    groups, values = np.array([0, 2, 0]), np.array([7, 9, -8])

    assert group_numbers.least(groups, values, 3).tolist() == [-8, group_numbers.NEVER, 9]


@pytest.mark.parametrize("scale", [1, 2**60])
def test_equal_keys_keep_the_order_of_their_positions(scale: int) -> None:
    keys = np.array([2, 0, 2, 1, 0, 2]) * scale

    assert group_numbers.sort_order(keys).tolist() == [1, 4, 3, 0, 2, 5]
    assert group_numbers.sort_order(keys[:0]).tolist() == []


@pytest.mark.parametrize("count", [4, 2**20, 2**40])
def test_combinations_are_numbered_however_many_are_possible(count: int) -> None:
    columns = [np.array([3, 0, 3, 3]), np.array([1, 2, 1, 0]), np.array([2, 2, 2, 2])]

    found, groups = group_numbers.number_combinations([(each, count) for each in columns], 4)

    assert [each.tolist() for each in found] == [[0, 3, 3], [2, 0, 1], [2, 2, 2]]
    assert groups.tolist() == [2, 0, 2, 1]
