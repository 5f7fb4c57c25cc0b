"""Filters: one language for standard and custom queries, compiled to conditions on bound values.

Conditions may be grouped by `and`, `or` and `not`. A row for which a condition cannot be told is
on the side of its negation, so that a filter and its `not` share all rows between them.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

import msgspec
from msgspec import UNSET, Struct

from query.engine.engine import Sql, merge_values
from query.request.filter_values import CONVERTERS, EPOCH, EXPECTED, Value, decimal_of
from query.request.operators import BY_NAME, Arity, Operator
from query.request.property_path import PROPERTIES_COLUMN, is_property, parse_property
from query.request.suggestions import unknown_name_message
from schemas.errors import Malformed
from schemas.tables import ColumnType

MAX_FILTERS = 50
MAX_DEPTH = 4
MAX_LIST_VALUES = 1000
MOST_VALUES = 2000
"""Values in all lists of one question's filters: long ones are planned while all others wait."""


class Filter(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"all_of": "and", "any_of": "or", "none_of": "not"},
):
    """One condition, or a group of them, as it is sent; `operator` and `op` are the same."""

    field: str | None = None
    operator: str | None = None
    op: str | None = None
    value: Value | list[Value] | msgspec.UnsetType = UNSET
    all_of: "list[Filter] | None" = None
    any_of: "list[Filter] | None" = None
    none_of: "Filter | None" = None

    @property
    def groups(self) -> "Sequence[tuple[str, list[Filter]]]":
        """The groups that it says it is, by the word of each."""
        inverted = None if self.none_of is None else [self.none_of]
        said = (("and", self.all_of), ("or", self.any_of), ("not", inverted))
        return [(word, parts) for word, parts in said if parts is not None]


class FilterField(Struct, frozen=True):
    """A column as requests may name it: its type, and our expression for it."""

    type: ColumnType
    sql: str
    in_ms: bool = False
    """Whether an instant is Unix milliseconds in the expression."""


class FilterTarget(Struct, frozen=True):
    """What conditions are about: the columns, and what callers call the table."""

    fields: Mapping[str, FilterField]
    table: str


def count_conditions(filters: Sequence[Filter], at: str = "filters") -> int:
    """Conditions in all groups; Malformed when they are nested too deep."""
    return sum(1 for _ in _flatten(filters, at, 0))


def compile_conditions(
    filters: Sequence[Filter],
    fields: Mapping[str, FilterField],
    table: str,
    at: str = "filters",
    prefix: str = "f",
) -> Sql:
    """The filters as `AND …` lines; Malformed names the filter and the rule.

    `table` is what the columns are in, in the caller's words; `prefix` begins the bound names.
    """
    if (count := count_conditions(filters, at)) > MAX_FILTERS:
        raise Malformed(f"'{at}' has {count} filters; at most {MAX_FILTERS} are allowed")
    if (listed := _listed(filters, at)) > MOST_VALUES:
        raise Malformed(
            f"'{at}' has {listed} values in its lists; at most {MOST_VALUES} are allowed"
        )
    each = [
        _compile(given, FilterTarget(fields, table), f"{at}[{i}]", f"{prefix}{i}")
        for i, given in enumerate(filters)
    ]
    text = "".join(f"\n AND {condition.text}" for condition in each)
    return Sql(text, merge_values(*(condition.values for condition in each)))


def _listed(filters: Sequence[Filter], at: str) -> int:
    """Values in the lists of all groups."""
    lists = (each.value for each in _flatten(filters, at, 0))
    return sum(len(value) for value in lists if isinstance(value, list))


def _flatten(filters: Sequence[Filter], at: str, depth: int) -> Iterator[Filter]:
    for i, each in enumerate(filters):
        if not each.groups:
            if each.field is None and not depth:
                raise Malformed(f"'{at}[{i}].field' is missing")
            yield each
        elif depth == MAX_DEPTH:
            raise Malformed(f"'{at}' is nested too deep; at most {MAX_DEPTH} groups in each other")
        for _, parts in each.groups:
            yield from _flatten(parts, at, depth + 1)


def _compile(given: Filter, seen: FilterTarget, at: str, name: str) -> Sql:
    """One filter; `name` begins the names of its values."""
    if not given.groups:
        return _compile_condition(given, seen, at, name)
    if given.field is not None or len(given.groups) > 1:
        raise Malformed(f"'{at}' must be one condition, or one of 'and', 'or' and 'not'")
    word, parts = given.groups[0]
    if not parts:
        raise Malformed(f"'{at}.{word}' is empty; give at least one condition")
    if word == "not":
        within = _compile(parts[0], seen, f"{at}.not", name)
        return Sql(f"({within.text} IS NOT TRUE)", within.values)
    each = [_compile(p, seen, f"{at}.{word}[{i}]", f"{name}_{i}") for i, p in enumerate(parts)]
    text = f" {word.upper()} ".join(part.text for part in each)
    return Sql(f"({text})", merge_values(*(part.values for part in each)))


def _compile_condition(given: Filter, seen: FilterTarget, at: str, prefix: str) -> Sql:
    if given.field is None:
        raise Malformed(f"'{at}.field' is missing")
    if is_property(given.field) and PROPERTIES_COLUMN in seen.fields:
        return _compile_property(given, given.field, at, prefix)
    field = seen.fields.get(given.field)
    if field is None:
        raise Malformed(
            unknown_name_message("column", given.field, seen.fields, f" in {seen.table}")
        )
    operator = _operator(given, at)
    if operator.text_only and field.type is not ColumnType.STRING:
        raise Malformed(f"'{at}': '{operator.name}' needs text, and '{given.field}' is not text")
    values = [_bound_value(value, field, given.field, at) for value in _values(given, operator, at)]
    return _bind(operator, field.sql, values, prefix)


def _bind(operator: Operator, column: str, values: Sequence[object], prefix: str) -> Sql:
    name = f"{prefix}_0"
    text = operator.over(len(values)).format(column=column, value=f"${name}")
    if operator.arity is Arity.NONE:
        return Sql(f"({text})")
    return Sql(f"({text})", {name: [*values] if operator.arity is Arity.MANY else values[0]})


def _compile_property(given: Filter, name: str, at: str, prefix: str) -> Sql:
    """A condition on a property: what is given says whether it is compared as text or as number."""
    operator = _operator(given, at)
    values = _values(given, operator, at)
    found = parse_property(name, f"{prefix}_path", f"{at}.field")
    kinds = {_kind(value) for value in values}
    if len(kinds) > 1 or "other" in kinds:
        raise Malformed(f"'{at}.value' must be text, or numbers, or true or false")
    kind = kinds.pop() if kinds else "text"
    if operator.text_only and kind != "text":
        raise Malformed(f"'{at}': '{operator.name}' needs text")
    column = {"text": found.text, "number": found.number, "flag": found.boolean}[kind]
    bound = [str(value).lower() if kind == "flag" else value for value in values]
    made = _bind(operator, column, bound, prefix)
    return Sql(made.text, merge_values(made.values, {found.parameter: found.pointer}))


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, str):
        return "text"
    return "number" if decimal_of(value) is not None else "other"


def _operator(given: Filter, at: str) -> Operator:
    name = given.operator or given.op
    if not name:
        raise Malformed(f"'{at}.operator' is missing; operators are {', '.join(BY_NAME)}")
    if name not in BY_NAME:
        raise Malformed(unknown_name_message("operator", name, BY_NAME, f" in '{at}'"))
    return BY_NAME[name]


def _values(given: Filter, operator: Operator, at: str) -> Sequence[Value]:
    value = given.value
    if operator.arity is Arity.NONE:
        return ()
    if value is UNSET or value is None:
        raise Malformed(
            f"'{at}.value' is missing: '{operator.name}' takes {operator.arity}; "
            "use is_null or is_not_null to ask for absence"
        )
    if isinstance(value, list) is not (operator.arity is Arity.MANY):
        raise Malformed(f"'{at}.value' must be {operator.arity} for '{operator.name}'")
    if not isinstance(value, list):
        return (value,)
    if not 1 <= len(value) <= MAX_LIST_VALUES:
        raise Malformed(f"'{at}.value' has {len(value)} values; 1 to {MAX_LIST_VALUES} are allowed")
    return value


def _bound_value(value: Value, field: FilterField, name: str, at: str) -> object:
    """The value as the engine compares it with a column of that type."""
    type_ = field.type
    made = CONVERTERS[type_](value)
    if made is None:
        raise Malformed(
            f"'{at}.value' must be {EXPECTED[type_]}, because '{name}' is {type_.value}"
        )
    in_ms = field.in_ms and type_ is ColumnType.TIMESTAMP
    return (made - EPOCH) // timedelta(milliseconds=1) if in_ms else made
