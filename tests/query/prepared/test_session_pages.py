"""Sessions and visitors by path from rollups, held against a computation row by row."""

from random import Random

import numpy as np
import pytest

from query.prepared.quarter_hours import QuarterHours
from query.prepared.session_groups import SessionPages
from tests.query.prepared.rollups import join, part_of

RANGE = QuarterHours(10, 15, np.zeros(5, np.int64), [0])

View = tuple[int, int, int, str | None]
"""Quarter, visitor, session (-1 is none of them) and path."""


def some_views(seed: int) -> list[View]:
    chance = Random(seed)
    return [
        (
            chance.randrange(9, 16),
            chance.choice((-1, 1, 2, 3, 4)),
            chance.choice((-1, 11, 12, 13, 14, 15)),
            chance.choice((None, "", "/", "/a", "/b", "/ü")),
        )
        for _ in range(60)
    ]


@pytest.mark.parametrize("stored", [None, 2, 1])
@pytest.mark.parametrize("seed", range(6))
def test_each_session_and_visitor_counts_once(seed: int, stored: int | None) -> None:
    views = some_views(seed)
    columns = ("quarter", "visitor", "session_key", "of_path")
    rollups = [
        part_of(
            "pages",
            **dict(zip(columns, map(list, zip(*own, strict=True)), strict=True)),
            views=[1 + i % 2 for i in range(len(own))],
        )
        for own in (views[::2], views[1::2])
    ]
    within = [view for view in views if 10 <= view[0] < 15]
    paths = {path for *_, path in within if path is not None}
    expected = [
        (
            path,
            len({view[2] for view in within if view[3] == path} - {-1}),
            len({view[1] for view in within if view[3] == path} - {-1}),
        )
        for path in paths
    ]

    found = SessionPages().rows(join(rollups, 10, 15, stored=stored), RANGE)

    assert found == sorted(expected, key=lambda row: (-row[1], -row[2], row[0]))
    assert len(found) == 5


def test_paths_of_other_quarters_have_no_row() -> None:
    rollup = part_of("pages", quarter=[10, 20], visitor=[1, 1], session_key=[5, 5],
                   of_path=["/a", "/b"], views=[1, 2])  # fmt: skip
    assert SessionPages().rows(join([rollup], 10, 15), RANGE) == [("/a", 1, 1)]
    assert SessionPages().rows(join([rollup], 30, 35), RANGE) == []
