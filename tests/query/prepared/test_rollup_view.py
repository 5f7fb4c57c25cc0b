"""Visitors and texts of several rollups."""

from random import Random

import numpy as np
import pytest

from query.prepared import groups_index
from query.prepared.breakdown import groups_by, shares
from query.prepared.rollup import Rollup
from query.prepared.rollup_view import RollupView
from tests.query.prepared.rollups import join, part_of

Row = tuple[int, int, str | None, int]


def pages(*rows: Row) -> Rollup:
    quarters, visitors, paths, views = zip(*rows, strict=True)
    return part_of("pages", quarter=quarters, visitor=visitors, of_path=paths, views=views)


PARTS = (
    pages((5, 70, "/", 2), (5, -1, "/", 1), (6, 80, None, 9), (9, 80, "/late", 1)),
    pages((4, 90, "/", 1), (5, 80, "/", 1), (7, 70, "/", 3), (7, 70, "/a", 1), (6, 80, "", 1)),
)


def joined(first: int, end: int, stored: int | None = None) -> RollupView:
    return join(PARTS, first, end, stored=stored)


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_visitors_of_all_parts_count_once(stored: int | None) -> None:
    assert list(shares(groups_by(joined(5, 9, stored), ["path"]))) == [
        ("/", 7, 2, 2, 4),
        ("", 1, 1, 1, 4),
        ("/a", 1, 1, 1, 4),
    ]


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_the_quarters_cut_the_parts(stored: int | None) -> None:
    assert list(shares(groups_by(joined(4, 5, stored), ["path"]))) == [("/", 1, 1, 1, 1)]
    assert list(shares(groups_by(joined(10, 11, stored), ["path"]))) == []


@pytest.mark.parametrize("seed", range(20))
def test_indexes_count_what_rows_do(seed: int) -> None:
    chance = Random(seed)
    paths = (None, "", "/", "/a", "/b")
    rollups = [
        pages(
            *(
                (chance.randrange(20, 40), chance.choice((-1, *range(9))), path, 1 + i % 3)
                for i, path in enumerate(chance.choices(paths, k=60))
            )
        )
        for _ in range(3)
    ]
    ranges = [(20, 40), (0, 99), (25, 31), (39, 40), (40, 41), (10, 25), (31, 30)]

    for first, end in ranges:
        expected = list(shares(groups_by(join(rollups, first, end), ["path"])))
        for stored in (3, 2, 1):
            found = list(shares(groups_by(join(rollups, first, end, stored=stored), ["path"])))
            assert found == expected, (first, end, stored)


def systems(*rows: tuple[int, int, str | None, str | None, int]) -> Rollup:
    quarters, visitors, names, versions, views = zip(*rows, strict=True)
    columns = {"of_os_name": names, "of_os_version": versions}
    return part_of("facts", quarter=quarters, visitor=visitors, **columns, views=views)


SYSTEMS = (
    systems((5, 70, "Windows 10", None, 2), (5, 80, "Mac", "14", 1), (6, 90, None, "1", 7)),
    systems((5, 70, "Windows", "10", 1), (7, 90, "Windows", "10", 1), (9, 90, "Mac", "", 1)),
)


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_names_of_several_columns_that_are_equal_are_one_group(stored: int | None) -> None:
    columns = ["os_name", "os_version"]
    found = groups_by(join(SYSTEMS, 0, 20, stored=stored), columns, together=True)
    apart = groups_by(join(SYSTEMS, 0, 20, stored=stored), columns)

    assert [row[:3] for row in shares(found)] == [
        ("Windows 10", 4, 2),
        ("Mac ", 1, 1),
        ("Mac 14", 1, 1),
    ]
    assert len(shares(apart)) == 4
    assert shares(apart)[1:3] == [*shares(apart)][1:3]
    assert shares(apart)[-1] == [*shares(apart)][-1]


@pytest.mark.parametrize(("flags", "keys"), [(2**26, 1), (1, 2**23), (1, 1)])
def test_groups_too_many_for_a_table_are_sorted(
    flags: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(shares(groups_by(joined(0, 10), ["path"])))
    monkeypatch.setattr(groups_index, "MAX_FLAGS", flags)
    monkeypatch.setattr(groups_index, "MAX_KEYS", keys)

    assert list(shares(groups_by(joined(0, 10), ["path"]))) == expected
    assert list(shares(groups_by(joined(0, 10, 1), ["path"]))) == expected


def test_no_rows_have_no_visitors() -> None:
    nothing = np.empty(0, np.int64)

    assert joined(0, 10).distinct(nothing, nothing, 2).tolist() == [0, 0]
