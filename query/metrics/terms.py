"""Metrics with arguments: aggregates of a number, conversions of goals, money."""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field, structs

from query.metrics.fields import FIELDS
from query.metrics.formulas import formula_metric
from query.metrics.metric import Metric, Part, Source, Unit, ratio
from query.metrics.metrics import BY_NAME, VISITORS
from query.metrics.money import MONEY_METRICS, MoneyTerm, money_metric
from query.request.order import FieldName
from query.request.property_path import MAX_SUMMED, PREFIX, is_property, parse_property
from query.request.suggestions import METRIC_WORDS, shorten, unknown_name_message
from query.sql import aggregates
from query.sql.aggregates import NUMBER_TYPES, Aggregate
from query.sql.fragment import Fragment, all_of, merge_values
from query.standard.sql.steps import (
    GoalStep,
    goal_currency,
    goal_value,
    saved_step,
    step_condition,
    value_check,
)
from schemas.errors import Malformed
from schemas.registry import Goal, SavedRecords
from schemas.tables import EVENTS

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
AGGREGATES = {a.name: a for a in aggregates.AGGREGATES if a.name not in ("count", "uniq")}
CONVERSION_VALUE = "conversion_value"
FORMULA = "formula"
CONVERSIONS = {
    "conversions": "rows that complete a goal",
    "conversion_rate": "visitors who completed a goal, of all visitors of the rows",
    CONVERSION_VALUE: "sum of the values of rows that complete a goal; null where they are in "
    "several currencies",
}


class MetricTerm(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A metric with arguments: an aggregate of a property, conversions of one goal, money."""

    metric: FieldName
    property: FieldName | None = None
    """A numeric property or column, for an aggregate."""
    event: FieldName | None = None
    """Only events of this name, for an aggregate."""
    goal: FieldName | None = None
    """For conversions: label of one of `goals`, or a saved goal; by default any of `goals`."""
    money: FieldName | None = None
    """Id or name of one money property, for metrics of money; without it, of all."""
    currency: FieldName | None = None
    """Code of ISO 4217, for metrics of money."""
    formula: FieldName | None = None
    """For `formula`: an expression over metrics, those before it by their names."""
    name: FieldName | None = field(name="as", default=None)


class SelectedMetric(Struct, frozen=True):
    """A metric of a query, under the name that the result has for it."""

    name: str
    metric: Metric


class _Context(Struct, frozen=True):
    """What terms may refer to."""

    goals: Sequence[GoalStep]
    saved: SavedRecords
    by_currency: bool


def select_metrics(
    terms: Sequence[str | MetricTerm],
    goals: Sequence[GoalStep],
    saved: SavedRecords,
    by_currency: bool,
) -> tuple[SelectedMetric, ...]:
    """The metrics of a query; Malformed names the term and the rule.

    `by_currency` is whether rows are grouped by currency.
    """
    context = _Context(goals, saved, by_currency)
    selected: list[SelectedMetric] = []
    for i, term in enumerate(_with_names(terms)):
        one = _select(term, i, context) if term.metric != FORMULA else _formula(term, i, selected)
        if one.name in [other.name for other in selected]:
            raise Malformed(
                f"'metrics[{i}]' is '{one.name}' again; give each metric once, or a name by 'as'"
            )
        selected.append(one)
    if goals and not any(part.name.startswith("goal") for s in selected for part in s.metric.parts):
        raise Malformed("'goals' needs the metric 'conversions' or 'conversion_rate'")
    return tuple(selected)


def _with_names(terms: Sequence[str | MetricTerm]) -> list[MetricTerm]:
    """The terms; several of one metric without a name have the goal or the money in their name."""
    given = [MetricTerm(term) if isinstance(term, str) else term for term in terms]
    unnamed = Counter(term.metric for term in given if term.name is None)
    return [
        structs.replace(term, name=_name_with(term, told))
        if unnamed[term.metric] > 1 and term.name is None and (told := _told(term))
        else term
        for term in given
    ]


def _told(term: MetricTerm) -> list[str]:
    """What tells conversions or sums of money from others of the same metric."""
    if term.metric in AGGREGATES:
        return []
    return [each for each in (term.goal, term.money, term.currency) if each is not None]


def _name_with(term: MetricTerm, told: Sequence[str]) -> str:
    return re.sub(r"\W", "_", "_".join((term.metric, *told)), flags=re.ASCII)[:63]


def _select(term: MetricTerm, position: int, context: _Context) -> SelectedMetric:
    at = f"metrics[{position}]"
    if term.name is not None:
        _check_name(term.name, at)
    _check_known(term.metric, at)
    _refuse(at, term, formula=term.formula)
    if term.metric in MONEY_METRICS:
        _refuse(at, term, property=term.property, event=term.event, goal=term.goal)
        money = MoneyTerm(at, term.metric, term.money, term.currency)
        name = term.name or term.metric
        metric = money_metric(money, context.saved, name, position, context.by_currency)
        return SelectedMetric(name, metric)
    _refuse(at, term, money=term.money, currency=term.currency)
    if term.metric in AGGREGATES:
        _refuse(at, term, goal=term.goal)
        return _aggregate(term, AGGREGATES[term.metric], at, position)
    _refuse(at, term, property=term.property, event=term.event)
    if term.metric in CONVERSIONS:
        return _conversions(term, at, position, context)
    _refuse(at, term, goal=term.goal)
    return SelectedMetric(term.name or term.metric, BY_NAME[term.metric])


def _formula(term: MetricTerm, position: int, before: Sequence[SelectedMetric]) -> SelectedMetric:
    at = f"metrics[{position}]"
    if term.name is not None:
        _check_name(term.name, at)
    if term.formula is None or term.name is None:
        raise Malformed(
            f"'{at}' is a formula, which has 'formula' and a name, such as "
            "{'metric': 'formula', 'formula': 'orders / visitors', 'as': 'orders_per_visitor'}"
        )
    others = {name: getattr(term, name) for name in ("property", "event", "goal", "money")}
    _refuse(at, term, **others, currency=term.currency)
    operands = {**BY_NAME, **{selected.name: selected.metric for selected in before}}
    further = frozenset((*CONVERSIONS, *MONEY_METRICS, *AGGREGATES))
    metric = formula_metric(term.name, term.formula, operands, further, at)
    return SelectedMetric(term.name, metric)


def _check_name(name: str, at: str) -> None:
    if not NAME.fullmatch(name):
        raise Malformed(
            f"'{at}.as' must start with a letter or '_' and have at most 63 letters, digits or '_'"
        )


def _check_known(name: str, at: str) -> None:
    """Malformed when there is no such metric, with the one that was probably meant."""
    known = [*BY_NAME, *CONVERSIONS, *MONEY_METRICS, *AGGREGATES, FORMULA]
    if name in known:
        return
    if meant := METRIC_WORDS.get(name.lower()):
        raise Malformed(f"Unknown metric '{shorten(name)}' in '{at}'; did you mean '{meant}'?")
    raise Malformed(unknown_name_message("metric", name, known, f" in '{at}'"))


def _refuse(at: str, term: MetricTerm, **members: str | None) -> None:
    """Malformed when the term has a member that its metric cannot use."""
    for name, value in members.items():
        if value is not None:
            raise Malformed(f"'{at}.{name}' does not apply to the metric '{term.metric[:60]}'")


def _aggregate(term: MetricTerm, aggregate: Aggregate, at: str, position: int) -> SelectedMetric:
    if term.property is None:
        raise Malformed(
            f"'{at}.property' is missing: '{aggregate.name}' is of a number, such as "
            f"{{'metric': '{aggregate.name}', 'property': 'properties.total'}}"
        )
    value = _number(term.property, at, position)
    only = [Fragment(f"{value.text} BETWEEN -{MAX_SUMMED} AND {MAX_SUMMED}")]
    if term.event is not None:
        bound = f"metric{position}_event"
        only.append(Fragment(f"name = ${bound}", {bound: term.event}))
    condition = all_of(*only)
    sql = f"{aggregate.sql.format(column=value.text)} FILTER (WHERE {condition.text})"
    part = Part(
        f"aggregate{position}", Source.ROWS, sql, merge_values(value.values, condition.values)
    )
    of_event = "" if term.event is None else f" of events '{term.event}'"
    description = f"{aggregate.description} of {term.property}{of_event}"
    default = re.sub(r"\W", "_", f"{aggregate.name}_{term.property}")
    metric = Metric(term.name or default, Unit.NUMBER, description, part.name, (part,))
    return SelectedMetric(metric.name, metric)


def _number(name: str, at: str, position: int) -> Fragment:
    """The numeric value of a property or a column."""
    if is_property(name):
        property_ = parse_property(name, f"metric{position}_path", f"{at}.property")
        return Fragment(property_.number, {property_.parameter: property_.pointer})
    known = [f.name for f in FIELDS.values() if f.type in NUMBER_TYPES and EVENTS.name in f.tables]
    if name not in known:
        message = unknown_name_message("number", name, known, f" in '{at}.property'")
        hint = "" if message.endswith("?") else f"; a property is '{PREFIX}{shorten(name)}'"
        raise Malformed(message + hint)
    return Fragment(FIELDS[name].column)


def _conversions(term: MetricTerm, at: str, position: int, context: _Context) -> SelectedMetric:
    chosen = [i for i, goal in enumerate(context.goals) if term.goal in (None, goal.display_name)]
    if chosen:
        part_name = "goal_{}_" + "_".join(map(str, chosen))
        goals = {f"goals[{i}]": (context.goals[i], f"goal{i}") for i in chosen}
    else:
        part_name = f"saved_goal_{{}}_{position}"
        goal = _saved_goal(term, at, context)
        goals = {f"goal '{goal.display_name}'": (goal, f"metric{position}_goal")}
    conditions = [step_condition(goal, path, prefix) for path, (goal, prefix) in goals.items()]
    text = " OR ".join(condition.text for condition in conditions)
    values = merge_values(*(condition.values for condition in conditions))
    times = Part(part_name.format("times"), Source.ROWS, f"COUNT(*) FILTER (WHERE {text})", values)
    visitors = Part(
        part_name.format("visitors"),
        Source.ROWS,
        f"COUNT(DISTINCT CASE WHEN {text} THEN visitor_hash END)",
        values,
    )
    description = CONVERSIONS[term.metric]
    if term.goal is not None:
        description = description.replace("a goal", f"the goal '{term.goal}'")
    name = term.name or term.metric
    if term.metric == CONVERSION_VALUE:
        amounts = [
            _amount(goal, path, prefix, condition)
            for (path, (goal, prefix)), condition in zip(goals.items(), conditions, strict=True)
        ]
        total = " + ".join(f"COALESCE(SUM({amount.value.text}), 0)" for amount in amounts)
        codes = " ".join(
            f"WHEN {amount.value.text} IS NOT NULL THEN {amount.currency.text}"
            for amount in amounts
        )
        values = merge_values(
            values, *(merge_values(a.value.values, a.currency.values) for a in amounts)
        )
        amount = Part(part_name.format("value"), Source.ROWS, total, values)
        currencies = Part(
            part_name.format("currencies"),
            Source.ROWS,
            f"COUNT(DISTINCT CASE {codes} END)",
            values,
        )
        formula = (
            f"CASE WHEN COALESCE({currencies.name}, 0) < 2 THEN COALESCE({amount.name}, 0) END"
        )
        checks = value_check({path: goal for path, (goal, _) in goals.items()})
        parts = (amount, currencies)
        metric = Metric(name, Unit.NUMBER, description, formula, parts, tuple(checks))
        return SelectedMetric(name, metric)
    if term.metric == "conversions":
        count = f"COALESCE({times.name}, 0)"
        return SelectedMetric(name, Metric(name, Unit.COUNT, description, count, (times,)))
    rate = ratio(f"{visitors.name} * 100", VISITORS.name)
    metric = Metric(name, Unit.PERCENT, description, rate, (visitors, VISITORS))
    return SelectedMetric(name, metric)


class _Amount(Struct, frozen=True):
    value: Fragment
    currency: Fragment


def _amount(goal: GoalStep, path: str, prefix: str, condition: Fragment) -> _Amount:
    """The value of a row that completes the goal; Malformed when the goal has none."""
    value = goal_value(goal, path, prefix)
    if value is None:
        raise Malformed(
            f"'{path}' has no value for '{CONVERSION_VALUE}'; give it 'value', such as "
            "properties.total, or save the goal with 'valueProperty'"
        )
    text = f"CASE WHEN {condition.text} THEN {value.text} END"
    return _Amount(Fragment(text, value.values), goal_currency(goal, path, prefix))


def _saved_goal(term: MetricTerm, at: str, context: _Context) -> GoalStep:
    """The saved goal that a term names."""
    if term.goal is None:
        raise Malformed(
            f"'{at}': '{term.metric}' needs 'goals', such as [{{'event': 'purchase'}}] in the "
            "body, or the name of a saved goal in 'goal'"
        )
    goal = context.saved.find(Goal, term.goal)
    if goal is None:
        labels = [step.display_name for step in context.goals]
        known = [*labels, *(one.name for one in context.saved.of(Goal))]
        if not known:
            raise Malformed(
                f"Unknown goal '{shorten(term.goal)}' in '{at}.goal', as none is saved; describe "
                "it in 'goals', such as [{'event': 'purchase'}], or save it"
            )
        raise Malformed(unknown_name_message("goal", term.goal, known, f" in '{at}.goal'"))
    return saved_step(goal, context.saved)
