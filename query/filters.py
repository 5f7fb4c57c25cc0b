"""Filters: one language for standard and custom queries, compiled to conditions on bound values."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from query.custom.operators import BY_NAME, Operator, Takes
from query.engine import Sql, joined
from query.suggest import unknown
from schemas.failures import Malformed
from schemas.tables import Type

MOST_FILTERS = 50
MOST_LISTED = 1000
MOST_NUMBER = 10**14
INT64 = range(-(2**63), 2**63)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Value = str | int | float | bool | None


class Filter(Struct, frozen=True):
    """One condition, as it is sent; `operator` and `op` are the same."""

    field: str
    operator: str | None = None
    op: str | None = None
    value: Value | list[Value] | msgspec.UnsetType = UNSET


class Field(Struct, frozen=True):
    """A column as requests may name it: its type, and our expression for it."""

    type: Type
    sql: str


def conditions(
    filters: Sequence[Filter], fields: Mapping[str, Field], table: str, at: str = "filters"
) -> Sql:
    """The filters as `AND …` lines; Malformed names the filter and the rule."""
    if len(filters) > MOST_FILTERS:
        raise Malformed(f"'{at}' has {len(filters)} filters; at most {MOST_FILTERS} are allowed")
    each = [_condition(f, fields, table, f"{at}[{i}]", f"f{i}") for i, f in enumerate(filters)]
    text = "".join(f"\n AND {condition.text}" for condition in each)
    return Sql(text, joined(*(condition.values for condition in each)))


def _condition(given: Filter, fields: Mapping[str, Field], table: str, at: str, prefix: str) -> Sql:
    field = fields.get(given.field)
    if field is None:
        raise Malformed(unknown("column", given.field, fields, f" in table '{table}'"))
    operator = _operator(given, at)
    if operator.text_only and field.type is not Type.STRING:
        raise Malformed(f"'{at}': '{operator.name}' needs text, and '{given.field}' is not text")
    values = [_bound(value, field.type, given.field, at) for value in _values(given, operator, at)]
    names = [f"{prefix}_{i}" for i in range(len(values))]
    text = operator.sql.format(column=field.sql, value=", ".join(f"${name}" for name in names))
    return Sql(text, dict(zip(names, values, strict=True)))


def _operator(given: Filter, at: str) -> Operator:
    name = given.operator or given.op
    if not name:
        raise Malformed(f"'{at}.operator' is missing; operators are {', '.join(BY_NAME)}")
    if name not in BY_NAME:
        raise Malformed(unknown("operator", name, BY_NAME, f" in '{at}'"))
    return BY_NAME[name]


def _values(given: Filter, operator: Operator, at: str) -> Sequence[Value]:
    value = given.value
    if operator.takes is Takes.NONE:
        return ()
    if value is UNSET or value is None:
        raise Malformed(
            f"'{at}.value' is missing: '{operator.name}' takes {operator.takes}; "
            "use is_null or is_not_null to ask for absence"
        )
    if isinstance(value, list) is not (operator.takes is Takes.MANY):
        raise Malformed(f"'{at}.value' must be {operator.takes} for '{operator.name}'")
    if not isinstance(value, list):
        return (value,)
    if not 1 <= len(value) <= MOST_LISTED:
        raise Malformed(f"'{at}.value' has {len(value)} values; 1 to {MOST_LISTED} are allowed")
    return value


def _bound(value: Value, type_: Type, field: str, at: str) -> object:
    """The value as the engine compares it with a column of that type."""
    made = MAKERS[type_](value)
    if made is None:
        raise Malformed(f"'{at}.value' must be {WANTED[type_]}, because '{field}' is {type_.value}")
    return made


def _text(value: Value) -> object:
    return value if isinstance(value, str) else None


def _whole(value: Value) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value if value in INT64 else None
    return _decimal(value)


def _decimal(value: Value) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not isfinite(value) or abs(value) > MOST_NUMBER:
        return None
    return Decimal(repr(value)).quantize(Decimal("1e-10"))


def _flag(value: Value) -> object:
    return value if isinstance(value, bool) else None


def _instant(value: Value) -> object:
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return EPOCH + timedelta(milliseconds=value)
    except (ValueError, OverflowError):
        pass
    return None


MAKERS: Mapping[Type, Any] = {
    Type.STRING: _text,
    Type.LONG: _whole,
    Type.INTEGER: _whole,
    Type.DECIMAL: _decimal,
    Type.BOOLEAN: _flag,
    Type.TIMESTAMP: _instant,
}

WANTED: Mapping[Type, str] = {
    Type.STRING: "text",
    Type.LONG: "a number of at most 63 bits",
    Type.INTEGER: "a number of at most 63 bits",
    Type.DECIMAL: "a number between -10^14 and 10^14",
    Type.BOOLEAN: "true or false",
    Type.TIMESTAMP: "an ISO 8601 instant or Unix milliseconds",
}
