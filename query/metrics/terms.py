"""Metrics with arguments: aggregates of a number, and conversions of goals."""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from query.custom import aggregates
from query.custom.aggregates import NUMBER_TYPES, Aggregate
from query.custom.compiler import MAX_SUMMED
from query.metrics.fields import FIELDS
from query.metrics.metrics import BY_NAME, VISITORS, Metric, Part, Source, Unit, ratio
from query.request.order import FieldName
from query.request.property_path import PREFIX, is_property, parse_property
from query.request.suggestions import unknown_name_message
from query.sql.fragment import Fragment, all_of, merge_values
from query.standard.sql.steps import Step, step_condition
from schemas.errors import Malformed

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
AGGREGATES = {a.name: a for a in aggregates.AGGREGATES if a.name not in ("count", "uniq")}
CONVERSIONS = {
    "conversions": "rows that complete a goal",
    "conversion_rate": "visitors who completed a goal, of all visitors of the rows",
}


class MetricTerm(Struct, frozen=True, forbid_unknown_fields=True):
    """A metric with arguments: an aggregate of a property, or conversions of one goal."""

    metric: FieldName
    property: FieldName | None = None
    """A numeric property or column, for an aggregate."""
    event: FieldName | None = None
    """Only events of this name, for an aggregate."""
    goal: FieldName | None = None
    """Label of one goal, for conversions; without it, any goal counts."""
    name: FieldName | None = field(name="as", default=None)


class SelectedMetric(Struct, frozen=True):
    """A metric of a query, under the name that the result has for it."""

    name: str
    metric: Metric


def select_metrics(
    terms: Sequence[str | MetricTerm], goals: Sequence[Step]
) -> tuple[SelectedMetric, ...]:
    """The metrics of a query; Malformed names the term and the rule."""
    selected: list[SelectedMetric] = []
    for i, term in enumerate(terms):
        one = _select(MetricTerm(term) if isinstance(term, str) else term, i, goals)
        if one.name in [other.name for other in selected]:
            raise Malformed(
                f"'metrics[{i}]' is '{one.name}' again; give each metric once, or a name by 'as'"
            )
        selected.append(one)
    if goals and not any(part.name.startswith("goal") for s in selected for part in s.metric.parts):
        raise Malformed("'goals' needs the metric 'conversions' or 'conversion_rate'")
    return tuple(selected)


def _select(term: MetricTerm, position: int, goals: Sequence[Step]) -> SelectedMetric:
    at = f"metrics[{position}]"
    if term.name is not None and not NAME.fullmatch(term.name):
        raise Malformed(
            f"'{at}.as' must start with a letter or '_' and have at most 63 letters, digits or '_'"
        )
    if term.metric in AGGREGATES:
        _refuse(at, term, goal=term.goal)
        return _aggregate(term, AGGREGATES[term.metric], at, position)
    _refuse(at, term, property=term.property, event=term.event)
    if term.metric in CONVERSIONS:
        return _conversions(term, at, goals)
    _refuse(at, term, goal=term.goal)
    if term.metric not in BY_NAME:
        known = [*BY_NAME, *CONVERSIONS, *AGGREGATES]
        raise Malformed(unknown_name_message("metric", term.metric, known, f" in '{at}'"))
    return SelectedMetric(term.name or term.metric, BY_NAME[term.metric])


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
    known = [f.name for f in FIELDS.values() if f.type in NUMBER_TYPES]
    if name not in known:
        known.append(f"{PREFIX}<path>")
        raise Malformed(unknown_name_message("number", name, known, f" in '{at}.property'"))
    return Fragment(FIELDS[name].column)


def _conversions(term: MetricTerm, at: str, goals: Sequence[Step]) -> SelectedMetric:
    if not goals:
        raise Malformed(
            f"'{at}': '{term.metric}' needs 'goals', such as [{{'event': 'purchase'}}] in the body"
        )
    labels = [goal.display_name for goal in goals]
    if term.goal is not None and term.goal not in labels:
        message = unknown_name_message("goal", term.goal, labels, f" in '{at}.goal'")
        raise Malformed(message)
    chosen = [i for i, label in enumerate(labels) if term.goal in (None, label)]
    conditions = [step_condition(goals[i], f"goals[{i}]", f"goal{i}") for i in chosen]
    text = " OR ".join(condition.text for condition in conditions)
    values = merge_values(*(condition.values for condition in conditions))
    suffix = "_".join(map(str, chosen))
    times = Part(f"goal_times_{suffix}", Source.ROWS, f"COUNT(*) FILTER (WHERE {text})", values)
    visitors = Part(
        f"goal_visitors_{suffix}",
        Source.ROWS,
        f"COUNT(DISTINCT CASE WHEN {text} THEN visitor_hash END)",
        values,
    )
    description = CONVERSIONS[term.metric]
    if term.goal is not None:
        description = description.replace("a goal", f"the goal '{term.goal}'")
    name = term.name or term.metric
    if term.metric == "conversions":
        count = f"COALESCE({times.name}, 0)"
        return SelectedMetric(name, Metric(name, Unit.COUNT, description, count, (times,)))
    rate = ratio(f"{visitors.name} * 100", VISITORS.name)
    metric = Metric(name, Unit.PERCENT, description, rate, (visitors, VISITORS))
    return SelectedMetric(name, metric)
