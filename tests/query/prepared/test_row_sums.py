"""Sums and distinct values of groups are the same however many groups are possible."""

from random import Random

import numpy as np
import pytest

from query.prepared import row_sums
from query.prepared.not_prepared import NotPrepared
from query.prepared.row_sums import RowSums

Rows = list[tuple[int, int, int, int]]
"""Two columns of a group, a count and a value."""


def summed(parts: list[Rows], sizes: tuple[int, int]) -> list[tuple[int, ...]]:
    """Each group with the sum of its counts and its distinct values."""
    sums = RowSums(sizes, 1, 1)
    for rows in parts:
        first, second, counts, values = (
            np.array(each, np.int64) for each in zip(*rows, strict=True)
        )
        sums.add([first, second], [counts], [values])
    groups = sums.groups()
    columns = [*groups.columns, groups.sums[0], groups.distinct(0, 9)]
    return list(zip(*(each.tolist() for each in columns), strict=True))


def expected(parts: list[Rows]) -> list[tuple[int, ...]]:
    rows = [row for part in parts for row in part]
    groups = sorted({row[:2] for row in rows})
    return [
        (
            *group,
            sum(row[2] for row in rows if row[:2] == group),
            len({row[3] for row in rows if row[:2] == group} - {0}),
        )
        for group in groups
    ]


@pytest.mark.parametrize("space", [2**17, 1])
@pytest.mark.parametrize("seed", range(10))
def test_groups_have_the_rows_of_all_parts(
    seed: int, space: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sums, "MAX_SPACE", space)
    chance = Random(seed)
    parts = [
        [
            (
                chance.randrange(4),
                chance.randrange(7),
                chance.randrange(1, 300),
                chance.randrange(9),
            )
            for _ in range(chance.randrange(1, 40))
        ]
        for _ in range(3)
    ]

    assert summed(parts, (4, 7)) == expected(parts)


def test_without_columns_there_is_one_group() -> None:
    sums = RowSums((), 2, 1)
    sums.add([], [np.array([2, 1]), np.array([0, 1])], [np.array([3, 3])])

    groups = sums.groups()

    assert list(groups.columns) == []
    assert [each.tolist() for each in groups.sums] == [[3], [1]]
    assert groups.distinct(0, 9).tolist() == [1]


def test_no_rows_have_no_groups() -> None:
    sums = RowSums((4, 7), 1, 0)
    sums.add([np.empty(0, np.int64)] * 2, [np.empty(0, np.int64)], [])

    assert [each.tolist() for each in sums.groups().columns] == [[], []]


def test_too_many_rows_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sums, "MAX_NUMBERS", 8)
    one = np.array([1, 1])

    few, many = RowSums((4, 7), 1, 0), RowSums((2**10, 2**10), 1, 0)

    few.add([one, one], [one], [])
    few.add([one, one], [one], [])
    many.add([one, one], [one], [])
    with pytest.raises(NotPrepared, match="too many rows"):
        many.add([one, one], [one], [])


def test_too_many_values_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sums, "MAX_VALUES", 5)
    one = np.array([1, 1])
    counted = RowSums((4,), 1, 2)

    counted.add([one], [one], [one, one])
    with pytest.raises(NotPrepared, match="too many rows"):
        counted.add([one], [one], [one, one])
