"""Funnel steps and goals as SQL conditions: an event or a page view, with filters."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, TypeVar

from msgspec import Meta, Struct, structs

from query.engine.engine import Row
from query.request.amounts import amount_sql, currency_in_text
from query.request.filters import Filter, FilterField, compile_conditions
from query.request.property_path import is_property, parse_property
from query.request.saved_goals import goal_members, members_of_act
from query.request.segments import expand_segments
from query.request.suggestions import shorten
from query.response.bodies import ResultWarning
from query.scope.path_columns import path_columns
from query.scope.visitor_facts import VISITOR_FACTS
from query.scope.visits import FACTS, SOURCE_FACTS, row_source_fields
from query.sql.event_condition import event_condition
from query.sql.fragment import Fragment, all_of, merge_values
from query.standard.declaration.result_check import ResultCheck, left_out, several_currencies
from query.standard.declaration.statement import Statement
from schemas.errors import Malformed
from schemas.registry import Goal, MoneyProperty, SavedRecords
from schemas.tables import EVENTS, ColumnType

StepText = Annotated[str, Meta(min_length=1, max_length=2048)]

FIELDS: Mapping[str, FilterField] = {
    **{c.name: FilterField(c.type, c.name) for c in EVENTS.columns if c.public},
    **{c.name: FilterField(ColumnType.STRING, c.name) for c in path_columns(EVENTS)},
    **row_source_fields(EVENTS),
    **{fact.name: FilterField(ColumnType.STRING, fact.sql_column) for fact in SOURCE_FACTS},
    **{fact.field: FilterField(ColumnType.STRING, fact.sql_column) for fact in FACTS},
    **{fact.field: FilterField(fact.type, fact.column, fact.in_ms) for fact in VISITOR_FACTS},
}
"""As in the filters of a query; facts of paths, visits and visitors are columns of `scoped`."""

NOTHING_SAVED = SavedRecords()

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
    currency: StepText | None = None
    """The property with the currency of the value; by default that of a saved money property, else
    `currency` beside the value."""


def resolve_step(step: StepT, saved: SavedRecords, path: str) -> StepT:
    """The step with what is saved in place of names of goals and segments; Malformed."""
    filters = expand_segments(step.filters, saved, f"{path}.filters")
    if step.goal is step.name is None:
        return with_currency(structs.replace(step, filters=filters), saved)
    act = {name: getattr(step, name) for name in ("event", "path", "goal", "name")}
    found = members_of_act(act, saved, path)
    value = {"value": step.value or found.get("value")} if isinstance(step, GoalStep) else {}
    resolved = structs.replace(
        step,
        **value,
        goal=None,
        name=None,
        event=found.get("event"),
        path=found.get("path"),
        filters=[*found.get("filters", ()), *filters],
        label=step.label or found.get("label"),
    )
    return with_currency(resolved, saved)


def resolve_steps(steps: Sequence[StepT], saved: SavedRecords, path: str) -> list[StepT]:
    """The steps of a list, resolved."""
    return [resolve_step(step, saved, f"{path}[{i}]") for i, step in enumerate(steps)]


def saved_step(goal: Goal, saved: SavedRecords = NOTHING_SAVED) -> GoalStep:
    """A saved goal as a step."""
    return with_currency(GoalStep(**goal_members(goal)), saved)


def with_currency(step: StepT, saved: SavedRecords) -> StepT:
    """The step with the property of its currency, where a money property of its value has one."""
    if not isinstance(step, GoalStep) or step.value is None or step.currency is not None:
        return step
    properties = (
        record.currency_property
        for record in saved.of(MoneyProperty)
        if (record.event, record.property) == (step.event, step.value)
    )
    return structs.replace(step, currency=next(filter(None, properties), None))


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


def step_conditions(steps: Sequence[Step], path: str, prefix: str) -> list[Fragment]:
    """The conditions of the steps of a list."""
    return [step_condition(s, f"{path}[{i}]", f"{prefix}{i}") for i, s in enumerate(steps)]


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
    beside = _currency_beside(goal, path, prefix)
    values = {property_.parameter: property_.pointer, **beside.values}
    return Fragment(amount_sql(property_, beside.text), values)


def _currency_beside(goal: GoalStep, path: str, prefix: str) -> Fragment:
    """The code in the property of the currency; NULL without one."""
    beside = goal.currency or str(goal.value).rpartition(".")[0] + ".currency"
    property_ = parse_property(beside, f"{prefix}_currency", f"{path}.currency")
    code = f"NULLIF(UPPER({property_.text}), '')"
    return Fragment(code, {property_.parameter: property_.pointer})


def goal_currency(goal: GoalStep, path: str, prefix: str) -> Fragment:
    """The currency of the value of a row; empty without one, which is added to no other."""
    if goal.value is None:
        return Fragment("CAST(NULL AS VARCHAR)")
    beside = _currency_beside(goal, path, prefix)
    property_ = parse_property(goal.value, f"{prefix}_value", f"{path}.value")
    code = f"COALESCE({beside.text}, {currency_in_text(property_)}, '')"
    return Fragment(code, {property_.parameter: property_.pointer, **beside.values})


def sum_of_one_currency(condition: str, amount: str, currency: str) -> str:
    """The sum of amounts, 0 of none; NULL where they are in several currencies."""
    codes = f"CASE WHEN {condition} AND {amount} IS NOT NULL THEN {currency} END"
    total = f"COALESCE(SUM(CASE WHEN {condition} THEN {amount} END), 0)"
    return f"CASE WHEN COUNT(DISTINCT {codes}) < 2 THEN {total} END"


def value_check(goals: Mapping[str, GoalStep]) -> Sequence[ResultCheck]:
    """Whether values of goals, by their place in the request, are left out or not added."""
    valued = {at: goal for at, goal in goals.items() if goal.value}
    columns, values = [], [Fragment()]
    for i, (at, goal) in enumerate(valued.items()):
        condition = step_condition(goal, at, f"check{i}")
        amount = goal_value(goal, at, f"check{i}") or Fragment("NULL")
        currency = goal_currency(goal, at, f"check{i}")
        property_ = parse_property(str(goal.value), f"check{i}_value", at)
        unread = f"{condition.text} AND {property_.text} IS NOT NULL AND {amount.text} IS NULL"
        columns += [
            f"COUNT(CASE WHEN {unread} THEN 1 END) AS unread_{i}",
            f"MAX(CASE WHEN {unread} THEN {property_.text} END) AS example_{i}",
            f"COUNT(DISTINCT CASE WHEN {condition.text} AND {amount.text} IS NOT NULL "
            f"THEN {currency.text} END) AS currencies_{i}",
        ]
        values += [condition, amount, currency]
    if not columns:
        return ()
    statement = Statement(
        sql=f"SELECT {', '.join(columns)} FROM scoped ORDER BY unread_0",  # noqa: S608
        values=merge_values(*(each.values for each in values)),
    )
    return (ResultCheck(statement, partial(_value_warnings, list(valued.values()))),)


def _value_warnings(goals: Sequence[GoalStep], row: Row) -> Sequence[ResultWarning]:
    found = []
    for i, goal in enumerate(goals):
        unread, example, currencies = row[3 * i : 3 * i + 3]
        if unread:
            found.append(left_out(f"'{goal.display_name}'", unread, example))
        if currencies > 1:
            found.append(several_currencies(f"'{goal.display_name}'", currencies))
    return found
