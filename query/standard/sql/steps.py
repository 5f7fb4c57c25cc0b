"""Funnel steps and goals as SQL conditions: an event or a page view, with filters."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from msgspec import Meta, Struct, structs

from query.request.filters import Filter, FilterField, compile_conditions
from query.request.property_path import MAX_SUMMED, is_property, parse_property
from query.request.saved_goals import goal_members, members_of_act
from query.request.segments import expand_segments
from query.request.suggestions import shorten
from query.scope.visitor_facts import VISITOR_FACTS
from query.scope.visits import FACTS, SOURCE_FACTS, row_source_fields
from query.sql.event_condition import event_condition
from query.sql.fragment import Fragment, all_of
from schemas.errors import Malformed
from schemas.registry import Goal, SavedRecords
from schemas.tables import EVENTS, ColumnType

StepText = Annotated[str, Meta(min_length=1, max_length=2048)]

FIELDS: Mapping[str, FilterField] = {
    **{c.name: FilterField(c.type, c.name) for c in EVENTS.columns if c.public},
    **row_source_fields(EVENTS),
    **{fact.name: FilterField(ColumnType.STRING, fact.sql_column) for fact in SOURCE_FACTS},
    **{fact.field: FilterField(ColumnType.STRING, fact.sql_column) for fact in FACTS},
    **{fact.field: FilterField(fact.type, fact.column, fact.in_ms) for fact in VISITOR_FACTS},
}
"""As in the filters of a query; facts of visits and visitors are columns of `scoped`."""

StepT = TypeVar("StepT", bound="Step")


class Step(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event, a page view of a path in which `*` stands for any characters, or a saved goal."""

    event: StepText | None = None
    path: StepText | None = None
    goal: StepText | None = None
    """A saved goal by its id or name."""
    name: StepText | None = None
    """A saved goal, else a path that begins with `/`, else an event."""
    filters: list[Filter] = []
    label: StepText | None = None

    @property
    def display_name(self) -> str:
        """Its label, else the event or the path."""
        return self.label or self.event or self.path or ""


class GoalStep(Step, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A step that is a goal: it may have a value."""

    value: StepText | None = None
    """A numeric property of the event, such as properties.total; of a saved goal its own."""


def resolve_step(step: StepT, saved: SavedRecords, path: str) -> StepT:
    """The step with what is saved in place of names of goals and segments; Malformed."""
    filters = expand_segments(step.filters, saved, f"{path}.filters")
    if step.goal is step.name is None:
        return structs.replace(step, filters=filters)
    act = {name: getattr(step, name) for name in ("event", "path", "goal", "name")}
    found = members_of_act(act, saved, path)
    value = {"value": step.value or found.get("value")} if isinstance(step, GoalStep) else {}
    return structs.replace(
        step,
        **value,
        goal=None,
        name=None,
        event=found.get("event"),
        path=found.get("path"),
        filters=[*found.get("filters", ()), *filters],
        label=step.label or found.get("label"),
    )


def saved_step(goal: Goal) -> GoalStep:
    """A saved goal as a step."""
    return GoalStep(**goal_members(goal))


def step_condition(
    step: Step, path: str, prefix: str, fields: Mapping[str, FilterField] = FIELDS
) -> Fragment:
    """The condition on a row that completes the step; by default on a row of `scoped`."""
    if (step.event is None) is (step.path is None):
        raise Malformed(f"'{path}' must have one of 'event', 'path', 'goal' and 'name'")
    where = compile_conditions(
        step.filters, fields, "table 'events'", f"{path}.filters", f"{prefix}_f"
    )
    condition = all_of(event_condition(step.event, step.path, f"{prefix}_is"), where)
    return Fragment(f"({condition.text})", condition.values)


def goal_value(goal: GoalStep, path: str, prefix: str) -> Fragment | None:
    """The value of a row that completes the goal, NULL unless it is a number; None without one."""
    if goal.value is None:
        return None
    if not is_property(goal.value):
        raise Malformed(
            f"'{path}.value' is '{shorten(goal.value)}'; use a numeric property such as "
            "properties.total"
        )
    property_ = parse_property(goal.value, f"{prefix}_value", f"{path}.value")
    number = property_.number
    text = f"CASE WHEN {number} BETWEEN -{MAX_SUMMED} AND {MAX_SUMMED} THEN {number} END"
    return Fragment(text, {property_.parameter: property_.pointer})
