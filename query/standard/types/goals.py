"""goals: conversions of each goal, and the share of visitors that converted."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, convert, structs

from query.engine.engine import Row
from query.request.filters import Filter
from query.request.subject import SubjectKind
from query.request.suggestions import unknown_name_message
from query.sql.fragment import merge_values
from query.standard.declaration.fields import Percent
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.steps import Step, StepText, resolve_segments, step_condition
from schemas.errors import Malformed
from schemas.registry import Goal, SavedRecords
from schemas.tables import EVENTS

MAX_GOALS = 20


class GoalStep(Step, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event, a page view, or a saved goal by its id or name."""

    goal: StepText | None = None


class Goals(QueryOptions, frozen=True):
    """Options of the request."""

    goals: Annotated[list[GoalStep], Meta(min_length=1, max_length=MAX_GOALS)] | UnsetType = UNSET
    """All saved goals of the website by default."""

    @classmethod
    def example(cls) -> "Goals":
        """An event and two pages."""
        return cls([GoalStep(event="n0"), GoalStep(path="/0", label="start"), GoalStep(path="/1")])

    def resolve(self, saved: SavedRecords, path: str) -> "Goals":
        """The options with saved goals and segments in place of their names."""
        if self.goals is UNSET:
            return Goals(_all_goals(saved, path))
        return Goals(
            [_resolve_goal(goal, saved, f"{path}.goals[{i}]") for i, goal in enumerate(self.goals)]
        )


def _resolve_goal(step: GoalStep, saved: SavedRecords, path: str) -> GoalStep:
    if step.goal is None:
        return resolve_segments(step, saved, path)
    if step.event is not None or step.path is not None:
        raise Malformed(f"'{path}' must have one of 'event', 'path' and 'goal'")
    goal = saved.find(Goal, step.goal)
    if goal is None:
        names = [known.name for known in saved.of(Goal)]
        raise Malformed(unknown_name_message("goal", step.goal, names, f" in '{path}'"))
    own = resolve_segments(step, saved, path)
    found = _saved_step(goal)
    filters = [*found.filters, *own.filters]
    return structs.replace(found, filters=filters, label=step.label or goal.name)


def _saved_step(goal: Goal) -> GoalStep:
    filters = convert(goal.filters, list[Filter])
    return GoalStep(event=goal.event, path=goal.path, filters=filters, label=goal.name)


def _all_goals(saved: SavedRecords, path: str) -> list[GoalStep]:
    goals = saved.of(Goal)
    if not goals:
        raise Malformed(f"'{path}.goals' is missing, and the website has no saved goals")
    if len(goals) > MAX_GOALS:
        raise Malformed(
            f"'{path}.goals' is missing, and the website has {len(goals)} saved goals; "
            f"name at most {MAX_GOALS} of them"
        )
    return [_saved_step(goal) for goal in goals]


class GoalConversions(Struct, frozen=True):
    name: str
    conversions: int
    visitors: int
    sessions: int
    conversion_rate: Percent


def goals_statement(options: Goals) -> Statement:
    """The number of all visitors, then three counts for each goal."""
    conditions = [
        step_condition(goal, f"goals[{i}]", f"goal{i}")
        for i, goal in enumerate(options.goals or ())
    ]
    counts = ",\n".join(
        f"COUNT(*) FILTER (WHERE {c.text}),\n"
        f"COUNT(DISTINCT CASE WHEN {c.text} THEN visitor_hash END),\n"
        f"COUNT(DISTINCT CASE WHEN {c.text} THEN session_hash END)"
        for c in conditions
    )
    return Statement(
        sql=f"""
            SELECT COUNT(DISTINCT visitor_hash) AS everyone,
                   {counts}
              FROM scoped
             ORDER BY everyone
        """,  # noqa: S608
        values=merge_values(*(c.values for c in conditions)),
        finish=partial(goal_rows, options.goals or ()),
    )


def goal_rows(goals: Sequence[Step], rows: Sequence[Row], *_: object) -> Sequence[Row]:
    """A row for each goal, in the order of the request."""
    everyone, *counts = rows[0]
    threes = [counts[i : i + 3] for i in range(0, len(counts), 3)]
    return [
        (goal.display_name, times, visitors, sessions, visitors, everyone)
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
