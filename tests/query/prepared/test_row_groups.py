"""Groups of events with their counts: what custom and metrics queries count."""

from random import Random

import msgspec
import numpy as np
import pytest

from query.engine.engine import Row
from query.prepared import row_groups
from query.prepared.array_rows import ArrayRows
from query.prepared.not_prepared import NotPrepared
from query.prepared.quarter_hours import whole_range
from query.prepared.row_columns import ALL_ROWS
from query.prepared.row_groups import CountedField, Group, RowGroups, RowSums
from query.request.buckets import Granularity
from query.request.date_parts import DatePart
from query.request.filter_struct import Filter
from query.request.time_range import TimeRange
from tests.query.prepared.rollups import join
from tests.query.prepared.test_row_columns import OTHERS, VIEWS, rollup

Rows = list[tuple[int, int, int, int]]
"""Two columns of a group, a count and a value."""


def summed(rollups: list[Rows], sizes: tuple[int, int]) -> list[tuple[int, ...]]:
    """Each group with the sum of its counts and its distinct values."""
    sums = RowSums(sizes, 1, 1)
    for rows in rollups:
        first, second, counts, values = (
            np.array(each, np.int64) for each in zip(*rows, strict=True)
        )
        sums.add([first, second], [counts], [values])
    groups = sums.groups()
    columns = [*groups.columns, groups.sums[0], groups.distinct(0, 9)]
    return list(zip(*(each.tolist() for each in columns), strict=True))


def expected(rollups: list[Rows]) -> list[tuple[int, ...]]:
    rows = [row for rollup in rollups for row in rollup]
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
    monkeypatch.setattr(row_groups, "MAX_SPACE", space)
    chance = Random(seed)
    rollups = [
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

    assert summed(rollups, (4, 7)) == expected(rollups)


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
    monkeypatch.setattr(row_groups, "MAX_NUMBERS", 8)
    one = np.array([1, 1])

    few, many = RowSums((4, 7), 1, 0), RowSums((2**10, 2**10), 1, 0)

    few.add([one, one], [one], [])
    few.add([one, one], [one], [])
    many.add([one, one], [one], [])
    with pytest.raises(NotPrepared, match="too many rows"):
        many.add([one, one], [one], [])


def test_too_many_values_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_groups, "MAX_VALUES", 5)
    one = np.array([1, 1])
    counted = RowSums((4,), 1, 2)

    counted.add([one], [one], [one, one])
    with pytest.raises(NotPrepared, match="too many rows"):
        counted.add([one], [one], [one, one])


DAY = TimeRange(0, 86_400_000, "UTC")
"""Its quarter-hours have the numbers 0 to 95."""
COUNT = CountedField()
VISITORS = CountedField("anonymous_id", is_distinct=True)
HAVING_COUNTRY = CountedField("country")


def rows_of(
    *groups: Group, counted: tuple[CountedField, ...] = (COUNT,), having: list[Filter] | None = None
) -> list[Row]:
    """Those of five page views, each with another row, and of a row without one."""
    form = RowGroups(
        ALL_ROWS, groups, counted, having=msgspec.json.encode(having or []), time_range=DAY
    )
    quarters = form.quarters(DAY, Granularity.DAILY)
    assert quarters is not None
    found = form.rows(join([rollup(VIEWS[:2], OTHERS), rollup(VIEWS[2:], OTHERS)], 0, 96), quarters)
    assert isinstance(found, ArrayRows)
    return [*found]


def test_rows_visitors_and_values_of_each_country() -> None:
    assert rows_of("country", counted=(COUNT, VISITORS, HAVING_COUNTRY)) == [
        ("DE", 4, 2, 4),
        ("ES", 2, 1, 2),
        ("FR", 2, 1, 2),
        ("IT", 2, 1, 2),
        (None, 2, 1, 0),
    ]


def test_without_groups_there_is_one_row() -> None:
    assert rows_of(counted=(COUNT, VISITORS, HAVING_COUNTRY)) == [(12, 5, 10)]


def test_groups_of_the_time() -> None:
    assert rows_of(Granularity.DAILY) == [(0, 12)]
    assert rows_of(DatePart.HOUR_OF_DAY) == [(2, 10), (3, 2)]


@pytest.mark.parametrize(
    ("having", "countries"),
    [
        (Filter("1", "gt", value=2.5), ["DE"]),
        (Filter("1", "in", value=[2.0, 3.0]), ["ES", "FR", "IT", None]),
        (Filter(none_of=Filter("1", "lte", value=2.0)), ["DE"]),
    ],
)
def test_conditions_on_counts(having: Filter, countries: list[str | None]) -> None:
    assert [row[0] for row in rows_of("country", having=[having])] == countries


def test_no_rows_have_a_row_only_without_groups() -> None:
    more = msgspec.json.encode([Filter("0", "gt", value=0.0)])
    assert RowGroups(ALL_ROWS, (), (COUNT, VISITORS)).nothing == (0, 0)
    assert RowGroups(ALL_ROWS, (), (COUNT,), having=more).nothing is None
    assert RowGroups(ALL_ROWS, ("country",), (COUNT,)).nothing is None
    assert whole_range(DAY) is not None
