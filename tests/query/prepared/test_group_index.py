"""The index counts what a look at all entries counts, whatever is counted at once."""

from random import Random

import numpy as np
import pytest

from query.prepared import group_index
from query.prepared.group_index import index_groups
from query.prepared.numbering import WITHOUT

FIRST = 1_000_000


@pytest.mark.parametrize("portion", [1, 3, 7, 2**16])
@pytest.mark.parametrize("seed", range(8))
def test_page_views_and_visitors_of_any_range(
    seed: int, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_index, "PORTION", portion)
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
    count = group_index.PORTION + 5
    columns = (np.zeros(count, np.int64), np.arange(1, count + 1), np.full(count, FIRST))
    index = index_groups(*columns, np.full(count, views))

    [of_views], [distinct] = index.between(FIRST, FIRST + 1)

    assert (of_views, distinct) == (views * count, count)
