"""Conversions of goals from rollups: by path, by wildcard, and by name of the event."""

import re
from collections.abc import Sequence
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from msgspec import convert

from query.engine.column_rows import ColumnRows
from query.prepared.forms import empty_result
from query.prepared.goal_counts import CountedGoal, GoalCounts
from query.prepared.quarter_hours import QuarterHours
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import OTHER_EVENTS, PAGES, SESSIONLESS, SESSIONS
from query.prepared.rollup_view import RollupView
from query.prepared.sessions_index import OF_SESSIONS
from query.sql.row_definitions import PAGE_VIEW, PAGE_VIEW_NAMES
from query.standard.types.goals import Goals, prepared_goals, stored_amounts
from query.standard.types.session_flow import SESSION_FLOW
from tests.query.prepared.rollups import column_rows, join

RANGE = QuarterHours(10, 15, np.zeros(5, np.int64), [0])
OF_ROWS = (*OF_SESSIONS, "row_count")
VIEWS = ("quarter", "visitor", "session_key", "of_path", "views")
EVENTS = ("quarter", "visitor", "session_key", "of_name", "row_count")

Rows = Sequence[Sequence[Any]]


def rollup(pages: Rows, events: Rows) -> Rollup:
    """From the columns of VIEWS and EVENTS; the visitor 50 has no session."""
    everyone = [(row[0], row[1], row[2]) for row in (*pages, *events)]
    zeros = [0] * (len(OF_ROWS) - 3)
    rows: dict[bool, list[Sequence[Any]]] = {False: [], True: []}
    for own in everyone:
        rows[own[1] == 50].append((*own, *zeros))
    return make_rollup(
        {
            SESSIONS.name: of_names(OF_ROWS, rows[False]),
            SESSIONLESS.name: of_names(OF_ROWS, rows[True]),
            PAGES.name: of_names(VIEWS, pages),
            OTHER_EVENTS.name: of_names(EVENTS, events),
        }
    )


def of_names(names: Sequence[str], rows: Rows) -> ColumnRows:
    return column_rows({name: [row[i] for row in rows] for i, name in enumerate(names)})


def rollups() -> list[Rollup]:
    return [
        rollup(
            [
                (10, 70, 1, "/a", 2),
                (11, 70, 1, "/a", 1),
                (11, 70, 2, "/a/b", 1),
                (12, -1, -1, "/a", 1),
                (12, 50, -1, None, 4),
            ],
            [(10, 70, 1, "signup", 3), (12, 80, -1, "signup", 1), (12, 80, -1, "Signup", 1)],
        ),
        rollup([(13, 90, 3, "/a", 1), (15, 91, 4, "/a", 1)], [(9, 70, 1, "signup", 5)]),
    ]


def counts(joined: RollupView, *goals: CountedGoal, everyone: int = 4) -> list[tuple[object, ...]]:
    [row] = GoalCounts(goals).rows(joined, RANGE)
    assert row[:4] == (1, None, 0, everyone)
    return [row[i : i + 4] for i in range(4, len(row), 4)]


@pytest.mark.parametrize("stored", [None, 2, 1])
def test_paths_wildcards_and_events(stored: int | None) -> None:
    joined = join(rollups(), 10, 15, stored=stored)
    goals = [CountedGoal(path, None) for path in ("/a", "/a*", "*b", "/", "/a.b")]

    assert counts(joined, *goals, CountedGoal(None, "signup"), CountedGoal(None, "other")) == [
        (5, 2, 2, None),
        (6, 2, 3, None),
        (1, 1, 1, None),
        (0, 0, 0, None),
        (0, 0, 0, None),
        (4, 2, 1, None),
        (0, 0, 0, None),
    ]


@pytest.mark.parametrize("pattern", ["a*a", "*a*b*", "a**b", "*ab*ab", "ab*", "*", "*b"])
def test_wildcards_stand_for_any_characters(pattern: str) -> None:
    texts = ["".join(each) for n in range(6) for each in product("ab\n", repeat=n)]
    paths = [(10, 70, 1, text, 1) for text in sorted(texts)]
    expected = re.compile(pattern.replace("*", ".*"), re.DOTALL)
    count = sum(bool(expected.fullmatch(text)) for text in texts)

    joined = join([rollup(paths, [])], 10, 15)
    [[views, *_]] = counts(joined, CountedGoal(pattern, None), everyone=1)

    assert views == count


def test_many_wildcards_take_no_longer_than_a_few() -> None:
    joined = join([rollup([(10, 70, 1, "a" * 400, 1)], [])], 10, 15)
    started = perf_counter()

    assert counts(joined, CountedGoal("*a" * 4 + "*b", None), everyone=1) == [(0, 0, 0, None)]

    assert perf_counter() - started < 5


def test_a_range_without_rows_has_a_row_of_zeros() -> None:
    form = GoalCounts((CountedGoal("/a", None),))
    nothing = [(1, None, 0, 0, 0, 0, 0, None)]
    assert form.rows(join(rollups(), 20, 25), RANGE) == nothing == empty_result(form)


def test_what_parts_do_not_count_reads_the_stored_rows() -> None:
    def form(goal: dict[str, object], **options: object) -> GoalCounts | None:
        return prepared_goals(convert({"goals": [goal], **options}, Goals))

    assert form({"path": "/*", "label": "all"}) == GoalCounts((CountedGoal("/*", None),))
    assert form({"event": "signup"}) == GoalCounts((CountedGoal(None, "signup"),))
    valued: dict[str, object] = {"event": "signup", "value": "properties.total"}
    assert form(valued) == GoalCounts((CountedGoal(None, "signup"),))
    assert stored_amounts(convert({"goals": [valued]}, Goals)) is not None
    assert stored_amounts(convert({"goals": [{"event": "signup"}]}, Goals)) is None
    assert form({"path": "/", "filters": [{"field": "country", "operator": "is_null"}]}) is None
    for name in ("screen_view", "pageview", "page_exit"):
        assert form({"event": name}) is None
    assert form({"path": "/"}, breakdown="country") is None
    assert f"name IN {PAGE_VIEW_NAMES}" == PAGE_VIEW


def test_sessions_and_visitors_of_pages() -> None:
    [pages] = [t.prepared for t in SESSION_FLOW if t.name == "session_pages"]
    assert pages is not None
    assert not callable(pages)
    assert pages.rows(join(rollups(), 10, 15), RANGE) == [("/a", 2, 2), ("/a/b", 1, 1)]
