"""Filters compiled to SQL conditions on bound values, for standard and custom queries.

Conditions may be grouped by `and`, `or` and `not`. A row for which a condition is null matches its
negation, so that every row matches either a filter or its `not`.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from msgspec import Struct

from query.request.condition_values import values_of, with_index
from query.request.filter_struct import Behavior, flatten
from query.request.filter_struct import Filter as Filter
from query.request.filter_struct import fields_named as fields_named
from query.request.filter_values import (
    CONVERTERS,
    EPOCH,
    EXPECTED,
    Value,
    decimal_of,
)
from query.request.operators import BY_NAME, Arity, Operator
from query.request.property_path import PROPERTIES_COLUMN, is_property, is_trait, parse_property
from query.request.suggestions import (
    OPERATOR_WORDS,
    unknown_column_message,
    unknown_name_message,
)
from query.sql.event_condition import event_condition
from query.sql.fragment import Fragment, VisitorSet, all_of, merge_values
from schemas.errors import Malformed
from schemas.tables import ColumnType

NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")
MAX_FILTERS = 50
MAX_BEHAVIORS = 10
"""Conditions on what visitors did: each reads the events of all visitors."""
MAX_VALUES = 2000
"""Values in all lists of the filters of a query: planning long lists holds up other queries."""


class FilterField(Struct, frozen=True):
    """A column that requests may name: its type and its SQL expression."""

    type: ColumnType
    sql: str
    in_ms: bool = False
    """Whether the expression gives an instant as Unix milliseconds."""


class FilterTarget(Struct, frozen=True):
    """The columns that conditions may name, and the name of the table in error texts."""

    fields: Mapping[str, FilterField]
    table: str
    visitors: "VisitorTarget | None" = None
    """For conditions on what visitors did; None where there are none."""
    has_profiles: bool = False
    """Whether conditions may name traits of visitors."""


class VisitorTarget(Struct, frozen=True):
    """How conditions name the visitor of a row, and what conditions on events may name."""

    column: str
    event_fields: Mapping[str, FilterField]
    has_profiles: bool = True
    """Whether conditions on the rows themselves may name traits of visitors."""


def count_conditions(filters: Sequence[Filter], path: str = "filters") -> int:
    """Conditions in all groups; Malformed when they are nested too deep."""
    return sum(1 for _ in flatten(filters, path))


def compile_conditions(
    filters: Sequence[Filter],
    fields: Mapping[str, FilterField],
    table: str,
    path: str = "filters",
    prefix: str = "f",
    visitors: VisitorTarget | None = None,
    of_profiles: bool = False,
) -> Fragment:
    """The filters as one condition; Malformed names the filter and the rule.

    `table` is the name of the table in error texts; `prefix` begins the names of bound values.
    """
    return all_of(
        *compile_each(filters, fields, table, path, prefix, visitors, of_profiles=of_profiles)
    )


def compile_each(
    filters: Sequence[Filter],
    fields: Mapping[str, FilterField],
    table: str,
    path: str = "filters",
    prefix: str = "f",
    visitors: VisitorTarget | None = None,
    only: Sequence[bool] | None = None,
    of_profiles: bool = False,
) -> Sequence[Fragment]:
    """Each filter as a condition of its own; `only` says which are compiled, others hold."""
    if (count := count_conditions(filters, path)) > MAX_FILTERS:
        raise Malformed(f"'{path}' has {count} filters; at most {MAX_FILTERS} are allowed")
    if (list_values := _listed(filters, path)) > MAX_VALUES:
        raise Malformed(
            f"'{path}' has {list_values} values in its lists; at most {MAX_VALUES} are allowed"
        )
    if (behaviors := sum(len(f.behaviors) for f in flatten(filters, path))) > MAX_BEHAVIORS:
        raise Malformed(
            f"'{path}' has {behaviors} conditions on what visitors did; "
            f"at most {MAX_BEHAVIORS} are allowed"
        )
    has_profiles = of_profiles or (visitors is not None and visitors.has_profiles)
    target = FilterTarget(fields, table, visitors, has_profiles)
    return [
        _compile(filter_, target, f"{path}[{i}]", f"{prefix}{i}")
        if only is None or only[i]
        else Fragment()
        for i, filter_ in enumerate(filters)
    ]


def _listed(filters: Sequence[Filter], path: str) -> int:
    """Values in the lists of all groups."""
    lists = (condition.value for condition in flatten(filters, path))
    return sum(len(value) for value in lists if isinstance(value, list))


def _compile(filter_: Filter, target: FilterTarget, path: str, name: str) -> Fragment:
    """One filter; `name` begins the names of its values."""
    members = len(filter_.groups) + len(filter_.behaviors)
    if not members:
        return _compile_condition(filter_, target, path, name)
    if filter_.is_condition or members > 1:
        raise Malformed(
            f"'{path}' must be one condition, or one of 'and', 'or', 'not', 'has_done' and "
            "'has_not_done'"
        )
    if filter_.behaviors:
        return _compile_behavior(filter_, target, path, name)
    word, parts = filter_.groups[0]
    if not parts:
        raise Malformed(f"'{path}.{word}' is empty; it needs at least one condition")
    if word == "not":
        inner = _compile(parts[0], target, f"{path}.not", name)
        return inner.with_text(f"({inner.text} IS NOT TRUE)")
    conditions = [
        _compile(p, target, f"{path}.{word}[{i}]", f"{name}_{i}") for i, p in enumerate(parts)
    ]
    text = f" {word.upper()} ".join(part.text for part in conditions)
    return all_of(*conditions).with_text(f"({text})")


def _compile_behavior(filter_: Filter, target: FilterTarget, path: str, name: str) -> Fragment:
    """Whether the visitor of a row is among those who did it; a row without a visitor is not."""
    [(word, behavior)] = filter_.behaviors
    at, visitors = f"{path}.{word}", target.visitors
    if visitors is None:
        raise Malformed(
            f"'{at}' has no meaning here; it belongs in the 'filters' of a query about a website"
        )
    filters = compile_conditions(
        behavior.filters,
        visitors.event_fields,
        "table 'events'",
        f"{at}.filters",
        f"{name}_",
        of_profiles=True,
    )
    where = all_of(_act(behavior, at, name), filters)
    if not where.text:
        raise Malformed(f"'{at}' is empty; it needs 'event', 'path', 'goal' or 'filters'")
    members = VisitorSet(f"done_{name}", where, behavior.within == "ever", behavior.times)
    text = f"({visitors.column} IN (SELECT {members.column} FROM {members.name}))"  # noqa: S608
    if word == "has_not_done":
        text = f"({text} IS NOT TRUE)"
    return Fragment(text, visitor_sets=(members,))


def _act(behavior: Behavior, at: str, name: str) -> Fragment:
    """The event, or the page view of a path, that a behavior names."""
    if behavior.goal is not None or behavior.name is not None:
        raise Malformed(f"'{at}' cannot name a saved goal here; give 'event' or 'path'")
    if behavior.event is None and behavior.path is None:
        return Fragment()
    if behavior.event is not None and behavior.path is not None:
        raise Malformed(f"'{at}' has both 'event' and 'path'; give one of them")
    return event_condition(behavior.event, behavior.path, f"{name}_is")


def _compile_condition(filter_: Filter, target: FilterTarget, path: str, prefix: str) -> Fragment:
    if filter_.field is None:
        raise Malformed(f"'{path}.field' is missing")
    if is_property(filter_.field) and PROPERTIES_COLUMN in target.fields:
        return _compile_property(filter_, filter_.field, path, prefix)
    if is_trait(filter_.field) and target.has_profiles:
        return _compile_property(filter_, filter_.field, path, prefix)
    field = target.fields.get(filter_.field)
    if field is None:
        where = f" in {target.table}, at '{path}.field'"
        raise Malformed(unknown_column_message(filter_.field, target.fields, where))
    operator = _operator(filter_, path)
    if operator.text_only and field.type is not ColumnType.STRING:
        raise Malformed(
            f"'{path}': operator '{operator.name}' applies to text columns only, "
            f"and '{filter_.field}' is not text"
        )
    values = [
        _bound_value(value, field, filter_.field, f"{path}.value{at}")
        for at, value in with_index(values_of(filter_, operator, path), operator)
    ]
    return _bind(operator, field.sql, values, prefix)


def _bind(operator: Operator, column: str, values: Sequence[object], prefix: str) -> Fragment:
    name = f"{prefix}_0"
    text = operator.sql_for(len(values)).format(column=column, value=f"${name}")
    if operator.arity is Arity.NONE:
        return Fragment(f"({text})")
    return Fragment(f"({text})", {name: [*values] if operator.arity is Arity.MANY else values[0]})


def _compile_property(filter_: Filter, name: str, path: str, prefix: str) -> Fragment:
    """A condition on a property, compared by the JSON type of the value in the filter."""
    operator = _operator(filter_, path)
    values = values_of(filter_, operator, path)
    property_ = parse_property(name, f"{prefix}_path", f"{path}.field")
    kinds = {_kind(value) for value in values}
    if len(kinds) > 1 or "other" in kinds:
        raise Malformed(
            f"'{path}.value' must be text or a number or true or false, in a list all of one type; "
            "a number beyond 10^14 must be given as text, in quotes"
        )
    kind = kinds.pop() if kinds else "text"
    if operator.text_only and kind != "text":
        raise Malformed(f"'{path}': operator '{operator.name}' needs text")
    if operator.by_order and any(map(_is_number, values)):
        raise Malformed(
            f"'{path}.value' is text, by which '{operator.name}' compares letter by letter; give "
            f"the number {values[0]}, without quotes"
        )
    column = {"text": property_.text, "number": property_.number, "flag": property_.boolean}[kind]
    bound = [str(value).lower() if kind == "flag" else value for value in values]
    condition = _bind(operator, column, bound, prefix)
    return Fragment(
        condition.text, merge_values(condition.values, {property_.parameter: property_.pointer})
    )


def _is_number(value: Value) -> bool:
    """Whether it is a text that reads as a number."""
    return isinstance(value, str) and NUMBER.fullmatch(value) is not None


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, str):
        return "text"
    return "number" if decimal_of(value) is not None else "other"


def _operator(filter_: Filter, path: str) -> Operator:
    name = filter_.operator or filter_.op
    if filter_.op not in (None, name):
        raise Malformed(f"'{path}' has an 'operator' and a different 'op'; give one of them")
    if not name:
        raise Malformed(f"'{path}.operator' is missing; operators are {', '.join(BY_NAME)}")
    if name not in BY_NAME:
        message = unknown_name_message(
            "operator", name, BY_NAME, f" in '{path}'", words=OPERATOR_WORDS
        )
        raise Malformed(message)
    return BY_NAME[name]


def _bound_value(value: Value, field: FilterField, name: str, path: str) -> object:
    """The value converted to the type of the column."""
    type_ = field.type
    converted = CONVERTERS[type_](value)
    if converted is None:
        hint = "; 'is_null' finds rows without one" if value is None else ""
        raise Malformed(
            f"'{path}' must be {EXPECTED[type_]}, because '{name}' is {type_.value}{hint}"
        )
    in_ms = field.in_ms and type_ is ColumnType.TIMESTAMP
    return (converted - EPOCH) // timedelta(milliseconds=1) if in_ms else converted
