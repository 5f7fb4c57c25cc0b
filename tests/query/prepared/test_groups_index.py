"""Groups index: counts and distinct visitors of each group between any two quarter-hours."""

from random import Random

import numpy as np
import pytest

from query.prepared import groups_index
from query.prepared.groups_index import index_groups
from query.prepared.shared_ids import WITHOUT


def test_sums_too_large_for_floating_point_are_exact() -> None:
    groups, values = np.array([0, 1, 0]), np.array([2**60 + 1, 5, 2**60 + 2])

    assert groups_index.sums(groups, values, 3).tolist() == [2**61 + 3, 5, 0]
    assert groups_index.sums(groups, -values, 3).tolist() == [-(2**61) - 3, -5, 0]


@pytest.mark.parametrize("flags", [2**26, 1])
def test_a_value_counts_once_in_each_group(flags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_index, "MAX_FLAGS", flags)
    groups, values = np.array([0, 1, 0, 0, 1, 2]), np.array([7, 7, 7, 8, 0, 0])

    assert groups_index.distinct_values(groups, values, 4, 9).tolist() == [2, 1, 0, 0]


def test_the_greatest_value_of_each_group() -> None:
    groups, values = np.array([0, 2, 0]), np.array([7, 9, 8])

    assert groups_index.greatest(groups, values, 3).tolist() == [8, 0, 9]


def test_the_least_value_of_each_group() -> None:
    groups, values = np.array([0, 2, 0]), np.array([7, 9, -8])

    assert groups_index.least(groups, values, 3).tolist() == [-8, groups_index.NEVER, 9]


@pytest.mark.parametrize("scale", [1, 2**60])
def test_equal_keys_keep_the_order_of_their_positions(scale: int) -> None:
    keys = np.array([2, 0, 2, 1, 0, 2]) * scale

    assert groups_index.sort_order(keys).tolist() == [1, 4, 3, 0, 2, 5]
    assert groups_index.sort_order(keys[:0]).tolist() == []


@pytest.mark.parametrize("count", [4, 2**20, 2**40])
def test_combinations_are_numbered_however_many_are_possible(count: int) -> None:
    columns = [np.array([3, 0, 3, 3]), np.array([1, 2, 1, 0]), np.array([2, 2, 2, 2])]

    found, groups = groups_index.number_combinations([(each, count) for each in columns], 4)

    assert [each.tolist() for each in found] == [[0, 3, 3], [2, 0, 1], [2, 2, 2]]
    assert groups.tolist() == [2, 0, 2, 1]


FIRST = 1_000_000


@pytest.mark.parametrize("portion", [1, 3, 7, 2**16])
@pytest.mark.parametrize("seed", range(8))
def test_page_views_and_visitors_of_any_range(
    seed: int, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups_index, "PORTION", portion)
    chance = Random(seed)
    rows = sorted(
        {
            (group, chance.randrange(5), FIRST + chance.randrange(20)): chance.randrange(1, 4)
            for group in range(6)
            for _ in range(chance.randrange(1, 12))
        }.items()
    )
    columns = zip(*(key for key, _ in rows), strict=True)
    groups, visitors, quarters = (np.array(each) for each in columns)
    index = index_groups(groups, visitors, quarters, np.array([views for _, views in rows]))

    for first, end in ((FIRST, FIRST + 20), (FIRST + 3, FIRST + 9), (0, 10), (FIRST + 9, 2**31)):
        inside = [(key, views) for key, views in rows if first <= key[2] < end]
        views, distinct = index.between(first, end)
        for group in range(6):
            own = [(key, count) for key, count in inside if key[0] == group]
            assert views[group] == sum(count for _, count in own)
            assert distinct[group] == len({key[1] for key, _ in own} - {WITHOUT})


@pytest.mark.parametrize("views", [1, 255, 65_535, 65_536, 2**31])
def test_sums_of_a_portion_fit(views: int) -> None:
    count = groups_index.PORTION + 5
    columns = (np.zeros(count, np.int64), np.arange(1, count + 1), np.full(count, FIRST))
    index = index_groups(*columns, np.full(count, views))

    [of_views], [distinct] = index.between(FIRST, FIRST + 1)

    assert (of_views, distinct) == (views * count, count)
