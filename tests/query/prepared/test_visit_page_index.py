"""Breakdowns by facts of the visit: indexes of all rows give what the rows of a range do."""

from collections.abc import Sequence
from functools import partial
from random import Random

import numpy as np
import pytest

from query.engine.engine import Row
from query.prepared.quarter_hours import QuarterHours
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import SOURCES, label
from query.prepared.rollup_union import positions_of_visits
from query.prepared.rollup_view import RollupView, VisitView
from query.prepared.visit_breakdown import VisitBreakdown, VisitPages
from tests.query.prepared.rollups import Values, column_rows, join

DAY = 96
FORMS = (
    VisitPages("entry_page"),
    VisitPages("exit_page"),
    VisitBreakdown(("channel",)),
    VisitBreakdown(("referrer_name", "channel"), otherwise="Direct"),
    VisitBreakdown(("channel",), left_out="a"),
)
RANGES = ((0, 3 * DAY), (DAY, 2 * DAY), (DAY + 7, 2 * DAY - 9), (0, DAY), (2 * DAY, 3 * DAY))


def some_part(chance: Random, sessions: Sequence[int], longest: int) -> Rollup:
    """Rows of these sessions, each within so many quarters of a quarter of its own."""
    rows = []
    for key in sessions:
        begin = Random(key).randrange(3 * DAY)
        for quarter in {min(3 * DAY - 1, begin + chance.randrange(longest)) for _ in range(3)}:
            span = chance.randrange(100_000)
            views = chance.choice((0, 1, 3))
            rows.append(
                (quarter, chance.randrange(12), key, chance.randrange(700_000), span, views)
            )
    names = ("quarter", "visitor", "session_key", "start_ms", "span_ms", "views")
    sessions_table = dict(zip(names, zip(*rows, strict=True), strict=True))
    zeros = [0] * len(rows)
    further = ("before_views_ms", "after_views_ms", "row_count", "others", "visible")
    tables = {
        "sessions": {**sessions_table, **dict.fromkeys(further, zeros)},
        "sessionless": sessionless(chance),
        "visits": visits(chance, [row for row in rows if row[-1]]),
    }
    return make_rollup({name: column_rows(columns) for name, columns in tables.items()})


def sessionless(chance: Random) -> dict[str, Values]:
    """Rows that belong to no session."""
    numbers = {
        "quarter": [chance.randrange(3 * DAY) for _ in range(9)],
        "visitor": [chance.randrange(-1, 12) for _ in range(9)],
        "views": [chance.choice((0, 1)) for _ in range(9)],
        "row_count": [1] * 9,
    }
    return {**numbers, **{label(name): some_texts(chance, 9) for name in SOURCES}}


def visits(chance: Random, viewed: Sequence[tuple[int, ...]]) -> dict[str, Values]:
    """The first and last page view of each session and day."""
    days: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for quarter, _, key, start, span, _ in viewed:
        days.setdefault((key, quarter // DAY), []).append((quarter * 900_000 + start, span))
    firsts = [min(each)[0] for each in days.values()]
    lasts = [max(start + span for start, span in each) for each in days.values()]
    numbers = {
        "quarter": [first // 900_000 for first in firsts],
        "start_ms": [first % 900_000 for first in firsts],
        "span_ms": [last - first for first, last in zip(firsts, lasts, strict=True)],
        "session_key": [key for key, _ in days],
    }
    texts = ("entry_page", "exit_page", *SOURCES)
    return {**numbers, **{label(name): some_texts(chance, len(days)) for name in texts}}


def some_texts(chance: Random, count: int) -> list[str | None]:
    return [chance.choice((None, "", "a", "b", "c")) for _ in range(count)]


def rows_of(form: VisitPages | VisitBreakdown, joined: RollupView) -> Sequence[Row] | None:
    rows = form.rows(joined, QuarterHours(joined.first, joined.end, np.zeros(0), [0]))
    return None if rows is None else [*rows]


def with_visits(rollups: Sequence[Rollup], first: int, end: int, stored: int | None) -> RollupView:
    """With the facts of a day before and after the range."""
    joined = join(rollups, first, end, stored=stored)
    around = ((first - first % DAY) - DAY, end + -end % DAY + DAY)
    for rows, of in ((joined, around), (whole(joined), (0, 2**31))):
        if rows is not None:
            facts = join(rollups, *of, stored=stored)
            rows.visits = VisitView(facts, partial(positions_of_visits, rows, facts))
    return joined


def whole(joined: RollupView) -> RollupView | None:
    """All rows, from which indexes are made."""
    made: list[RollupView] = []

    class Nothing:
        size = 0

    def keep(rows: RollupView) -> Nothing:
        made.append(rows)
        return Nothing()

    joined.index("rows", keep)
    return made[0] if made else None


@pytest.mark.parametrize("rest", [0, 1])
@pytest.mark.parametrize("longest", [3, 40, 2 * DAY])
@pytest.mark.parametrize("seed", range(8))
def test_indexes_give_what_the_rows_of_the_range_do(seed: int, longest: int, rest: int) -> None:
    chance = Random(seed)
    rollups = [some_part(chance, range(i, 120, 2), longest) for i in (0, 1)]
    rollups.append(some_part(chance, range(0, 120, 7), longest))

    for form in FORMS:
        for first, end in RANGES:
            expected = rows_of(form, with_visits(rollups, first, end, None))
            found = rows_of(form, with_visits(rollups, first, end, len(rollups) - rest))
            assert found == expected, (form, first, end)
            assert expected


@pytest.mark.parametrize("form", [VisitBreakdown(("channel",)), VisitPages("entry_page")])
def test_an_index_without_groups_is_an_answer(
    form: VisitBreakdown | VisitPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Random(1)
    monkeypatch.setattr(chance, "choice", lambda values: values[0])  # no texts, no page views
    joined = with_visits([some_part(chance, range(20), 3)], 0, 3 * DAY, 1)
    tables: list[str] = []
    columns = RollupView.columns

    def noted(rows: RollupView, table: str, *names: str) -> object:
        tables.append(table if rows is joined else "")
        return columns(rows, table, *names)

    monkeypatch.setattr(RollupView, "columns", noted)

    assert rows_of(form, joined) == []
    assert not any(tables)  # the rows of the range are not read
