"""goals: conversions of each goal, and the share of visitors that converted."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.sql.fragment import merge_values
from query.standard.declaration.fields import Percent
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.steps import Step, step_condition
from schemas.tables import EVENTS

MAX_GOALS = 20


class Goals(QueryOptions, frozen=True):
    """Options of the request."""

    goals: Annotated[list[Step], Meta(min_length=1, max_length=MAX_GOALS)]

    @classmethod
    def example(cls) -> "Goals":
        """An event and two pages."""
        return cls([Step(event="n0"), Step(path="/0", label="start"), Step(path="/1")])


class GoalConversions(Struct, frozen=True):
    name: str
    conversions: int
    visitors: int
    sessions: int
    conversion_rate: Percent


def goals_statement(options: Goals) -> Statement:
    """The number of all visitors, then three counts for each goal."""
    conditions = [
        step_condition(goal, f"goals[{i}]", f"goal{i}") for i, goal in enumerate(options.goals)
    ]
    counts = ",\n".join(
        f"COUNT(*) FILTER (WHERE {c.text}),\n"
        f"COUNT(DISTINCT CASE WHEN {c.text} THEN visitor_hash END),\n"
        f"COUNT(DISTINCT CASE WHEN {c.text} THEN session_hash END)"
        for c in conditions
    )
    return Statement(
        sql=f"""
            SELECT COUNT(DISTINCT visitor_hash) AS all_visitors,
                   {counts}
              FROM scoped
             ORDER BY all_visitors
        """,  # noqa: S608
        values=merge_values(*(c.values for c in conditions)),
        rows_in_python=partial(goal_rows, options.goals),
    )


def goal_rows(goals: Sequence[Step], rows: Sequence[Row], *_: object) -> Sequence[Row]:
    """A row for each goal, in the order of the request."""
    all_visitors, *counts = rows[0]
    threes = [counts[i : i + 3] for i in range(0, len(counts), 3)]
    return [
        (goal.display_name, times, visitors, sessions, visitors, all_visitors)
        for goal, (times, visitors, sessions) in zip(goals, threes, strict=True)
    ]


GOALS = (
    QueryType(
        name="goals",
        description="conversions of each goal, and its share of all visitors",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=GoalConversions,
        options=Goals,
        sql=goals_statement,
    ),
)
