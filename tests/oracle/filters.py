"""Filters evaluated row by row; an operator and its opposite share all rows between them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.oracle.stored_rows import Row

FilterJson = Mapping[str, Any]
"""A filter as it is sent."""

TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda mine, condition: mine == condition,
    "gt": lambda mine, condition: mine > condition,
    "gte": lambda mine, condition: mine >= condition,
    "lt": lambda mine, condition: mine < condition,
    "lte": lambda mine, condition: mine <= condition,
    "in": lambda mine, condition: mine in condition,
    "contains": lambda mine, condition: condition in mine,
    "starts_with": lambda mine, condition: mine.startswith(condition),
    "ends_with": lambda mine, condition: mine.endswith(condition),
    "is_not_null": lambda _mine, _given: True,
}
"""Comparison of each operator with a present value; false without a value."""

OPPOSITES = {
    "ne": "eq",
    "not_in": "in",
    "not_contains": "contains",
    "is_null": "is_not_null",
}


def holds(row: Row, condition: FilterJson) -> bool:
    """Whether the row matches one filter or a group of filters."""
    if "and" in condition:
        return all(holds(row, each) for each in condition["and"])
    if "or" in condition:
        return any(holds(row, each) for each in condition["or"])
    if "not" in condition:
        return not holds(row, condition["not"])
    if "visitor_in" in condition:
        return row["person"] in condition["visitor_in"]
    name = condition["operator"]
    if name in OPPOSITES:
        return not _is(row, condition["field"], OPPOSITES[name], condition.get("value"))
    return _is(row, condition["field"], name, condition.get("value"))


def fields_of(condition: FilterJson) -> set[str]:
    """The columns that a filter or a group names."""
    within = [
        *condition.get("and", ()),
        *condition.get("or", ()),
        *filter(None, [condition.get("not")]),
    ]
    named = {condition["field"]} if "field" in condition else set()
    return named.union(*map(fields_of, within))


def all_hold(row: Row, filters: Sequence[FilterJson]) -> bool:
    """Whether all of them do."""
    return all(holds(row, condition) for condition in filters)


def _is(row: Row, field: str, operator: str, condition: Any) -> bool:
    mine = row.get(field)
    if mine is None:
        return False
    return TESTS[operator](mine, _like(condition, mine))


def _like(condition: Any, mine: Any) -> Any:
    """The sent value converted to the type that it is compared with."""
    if isinstance(condition, list):
        return [_like(each, mine) for each in condition]
    if isinstance(mine, datetime) and isinstance(condition, str):
        at = datetime.fromisoformat(condition)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if isinstance(mine, datetime) and condition is not None:
        return datetime.fromtimestamp(condition / 1000, UTC)
    if isinstance(mine, Decimal | int) and isinstance(condition, float):
        return Decimal(repr(condition))
    return condition
