"""Conversions of goals from rollups: page views of a path, and events of a name."""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.quarter_hours import QuarterHours, RangePlan
from query.prepared.rollup import SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_tables import OTHER_EVENTS, PAGES, label
from query.prepared.rollup_view import ChooseTexts, RollupView
from query.prepared.totals_index import TABLES, row_totals
from query.sql.event_condition import WILDCARD

GROUP = (1, None, 0)
"""The columns of the group that all rows belong to."""


class CountedGoal(Struct, frozen=True):
    """Page views of a path, in which `*` stands for any characters, or else events of a name."""

    path: str | None
    event: str | None


class GoalCounts(RangePlan, frozen=True):
    """One row: all visitors, then conversions, visitors, sessions and no value of each goal."""

    goals: tuple[CountedGoal, ...]

    @property
    def tables(self) -> Sequence[str]:
        return (*TABLES, PAGES.name, OTHER_EVENTS.name)

    @property
    def nothing(self) -> Row:
        """The row of no rows."""
        return (*GROUP, 0, *(0, 0, 0, None) * len(self.goals))

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        _, _, [all_visitors] = row_totals(joined, quarters.buckets, 1)
        counts = [number for goal in self.goals for number in _counts(joined, goal)]
        return [(*GROUP, int(all_visitors), *counts)]


def _counts(joined: RollupView, goal: CountedGoal) -> tuple[int, int, int, None]:
    """Conversions, visitors, sessions, no value."""
    if goal.path is not None:
        table, column, counted = PAGES.name, label("path"), "views"
    else:
        table, column, counted = OTHER_EVENTS.name, label("name"), "row_count"
    names = (counted, VISITOR_COLUMN, SESSION_COLUMN)
    rows = joined.rows_of_texts(table, column, _chooser(goal), *names)
    visitors, sessions = (_distinct(joined, name, rows[name]) for name in names[1:])
    return int(rows[counted].sum(dtype=np.int64)), visitors, sessions, None


def _chooser(goal: CountedGoal) -> ChooseTexts:
    if goal.path is None or WILDCARD not in goal.path:
        return lambda texts: _position(texts, goal.path or goal.event or "")
    start, *between, end = goal.path.split(WILDCARD)
    return lambda texts: [i for i, text in enumerate(texts) if _fits(text, start, between, end)]


def _fits(text: str, start: str, between: Sequence[str], end: str) -> bool:
    """Whether a text has these in their order: each is looked for once, from where one ended."""
    if not text.startswith(start):
        return False
    at = len(start)
    for each in between:
        if (found := text.find(each, at)) < 0:
            return False
        at = found + len(each)
    return len(text) - at >= len(end) and text.endswith(end)


def _position(texts: Sequence[str], text: str) -> Sequence[int]:
    at = bisect_left(texts, text)
    return [at] if at < len(texts) and texts[at] == text else []


def _distinct(joined: RollupView, column: str, numbers: Numbers) -> int:
    return int(joined.distinct(np.zeros(len(numbers), np.intp), numbers, 1, column)[0])
