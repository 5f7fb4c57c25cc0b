"""Rows of a breakdown, held against their groups."""

from weakref import ref

import numpy as np
import pytest

from query.prepared.breakdown import NamedGroups, shares


def groups_with(having: int, count: int) -> NamedGroups:
    """The first groups have page views."""
    views = np.arange(count, 0, -1) * (np.arange(count) < having)
    return NamedGroups([(f"/{i:05}",) for i in range(count)], views, np.minimum(views, 1))


@pytest.mark.parametrize("having", [0, 3, 500, 1_000])
def test_rows_are_those_of_groups_with_page_views(having: int) -> None:
    rows = shares(groups_with(having, 1_000))

    expected = [(f"/{i:05}", 1_000 - i, 1, 1, having) for i in range(having)]
    assert [*rows] == expected
    assert rows[having // 2 : having // 2 + 2] == expected[having // 2 : having // 2 + 2]


def test_rows_keep_nothing_of_other_groups() -> None:
    groups = groups_with(3, 1_000)
    columns = [ref(groups.views), ref(groups.visitors)]
    rows = shares(groups)
    del groups

    assert len(rows) == 3
    assert [each() for each in columns] == [None] * 2
