"""Visitors and texts of several parts."""

import numpy as np
import pytest

from query.prepared import breakdown, joined_parts
from query.prepared.breakdown import BreakdownGroup, groups_by
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import Part
from tests.query.prepared.parts import join, part_of

Row = tuple[int, int, str | None, int]


def pages(*rows: Row) -> Part:
    quarters, visitors, paths, views = zip(*rows, strict=True)
    return part_of("pages", quarter=quarters, visitor=visitors, of_path=paths, views=views)


PARTS = (
    pages((5, 70, "/", 2), (5, -1, "/", 1), (6, 80, None, 9), (9, 80, "/late", 1)),
    pages((4, 90, "/", 1), (5, 80, "/", 1), (7, 70, "/", 3), (7, 70, "/a", 1), (6, 80, "", 1)),
)


def joined(first: int, end: int) -> JoinedParts:
    return join(PARTS, first, end)


def test_visitors_of_all_parts_count_once() -> None:
    assert groups_by(joined(5, 9), ["path"]) == [
        BreakdownGroup(("/",), 7, 2),
        BreakdownGroup(("",), 1, 1),
        BreakdownGroup(("/a",), 1, 1),
    ]


def test_the_quarters_cut_the_parts() -> None:
    assert groups_by(joined(4, 5), ["path"]) == [BreakdownGroup(("/",), 1, 1)]
    assert groups_by(joined(10, 11), ["path"]) == []


@pytest.mark.parametrize(("flags", "keys"), [(2**26, 1), (1, 2**23), (1, 1)])
def test_groups_too_many_for_a_table_are_sorted(
    flags: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = groups_by(joined(0, 10), ["path"])
    monkeypatch.setattr(joined_parts, "MAX_FLAGS", flags)
    monkeypatch.setattr(breakdown, "MAX_KEYS", keys)

    assert groups_by(joined(0, 10), ["path"]) == expected


def test_no_rows_have_no_visitors() -> None:
    nothing = np.empty(0, np.int64)

    assert joined(0, 10).distinct(nothing, nothing, 2).tolist() == [0, 0]
