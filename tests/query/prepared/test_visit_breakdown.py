"""The row of a session with its first or last page view, over quarters and rollups."""

from random import Random

import numpy as np
import pytest
from msgspec import Struct

from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.visits_index import edge_rows
from tests.query.prepared.rollups import columns_of


class SessionRow(Struct, frozen=True):
    """What a session did in a quarter-hour."""

    quarter: int
    session_key: int
    visitor: int
    start_ms: int
    span_ms: int
    before_views_ms: int
    after_views_ms: int
    views: int

    def view_ms(self, is_last: bool) -> int:
        start = self.quarter * QUARTER_MS + self.start_ms
        return start + (self.span_ms - self.after_views_ms if is_last else self.before_views_ms)


def some_rows(seed: int) -> list[SessionRow]:
    chance = Random(seed)
    rows = []
    for _ in range(300):
        span = chance.choice((0, 0, 5, 400_000))
        edges = (0, 0) if not span else (chance.randrange(3), chance.randrange(2))
        who = (chance.randrange(60), chance.randrange(3))
        times = (chance.randrange(100_000), span, *edges)
        rows.append(SessionRow(chance.randrange(5), *who, *times, chance.choice((0, 1, 2))))
    return rows


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("is_last", [False, True])
def test_the_row_of_the_first_or_last_page_view(seed: int, is_last: bool) -> None:
    rows = some_rows(seed)
    columns = {name: np.array(values) for name, values in columns_of(SessionRow, rows).items()}
    viewed = [row for row in rows if row.views]
    edges = {}
    for key in {row.session_key for row in viewed}:
        times = [row.view_ms(is_last) for row in viewed if row.session_key == key]
        edge = max(times) if is_last else min(times)
        edges[key] = {
            row.visitor for row in viewed if row.session_key == key and row.view_ms(is_last) == edge
        }

    chosen = edge_rows(columns, 60, is_last=is_last)

    if any(len(visitors) > 1 for visitors in edges.values()):
        assert chosen is None
    else:
        assert chosen is not None
        assert {rows[at].session_key: {rows[at].visitor} for at in chosen.tolist()} == edges


def test_two_visitors_at_one_time_are_not_told_apart() -> None:
    rows = [SessionRow(1, 7, visitor, 5, 0, 0, 0, 1) for visitor in (1, 2)]
    columns = {name: np.array(values) for name, values in columns_of(SessionRow, rows).items()}

    assert edge_rows(columns, 8, is_last=False) is None
    one = {name: each[:1] for name, each in columns.items()}
    assert edge_rows(one, 8, is_last=False) is not None


def test_no_rows_have_no_sessions() -> None:
    columns = {name: np.empty(0, np.int64) for name in SessionRow.__struct_fields__}

    chosen = edge_rows(columns, 8, is_last=True)

    assert chosen is not None
    assert len(chosen) == 0
