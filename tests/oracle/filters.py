"""Filters, one row at a time: an operator and its opposite share all rows between them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.oracle.stored_rows import Row

Given = Mapping[str, Any]
"""A filter as it is sent."""

TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda mine, given: mine == given,
    "gt": lambda mine, given: mine > given,
    "gte": lambda mine, given: mine >= given,
    "lt": lambda mine, given: mine < given,
    "lte": lambda mine, given: mine <= given,
    "in": lambda mine, given: mine in given,
    "contains": lambda mine, given: given in mine,
    "starts_with": lambda mine, given: mine.startswith(given),
    "ends_with": lambda mine, given: mine.endswith(given),
    "is_not_null": lambda _mine, _given: True,
}
"""What each says of a value that is there; without a value it is not so."""

OPPOSITES = {
    "ne": "eq",
    "not_in": "in",
    "not_contains": "contains",
    "is_null": "is_not_null",
}


def holds(row: Row, given: Given) -> bool:
    """Whether one filter, or a group of them, lets the row through."""
    if "and" in given:
        return all(holds(row, each) for each in given["and"])
    if "or" in given:
        return any(holds(row, each) for each in given["or"])
    if "not" in given:
        return not holds(row, given["not"])
    name = given["operator"]
    if name in OPPOSITES:
        return not _is(row, given["field"], OPPOSITES[name], given.get("value"))
    return _is(row, given["field"], name, given.get("value"))


def fields_of(given: Given) -> set[str]:
    """The columns that a filter or a group names."""
    within = [*given.get("and", ()), *given.get("or", ()), *filter(None, [given.get("not")])]
    named = {given["field"]} if "field" in given else set()
    return named.union(*map(fields_of, within))


def all_hold(row: Row, filters: Sequence[Given]) -> bool:
    """Whether all of them do."""
    return all(holds(row, given) for given in filters)


def _is(row: Row, field: str, operator: str, given: Any) -> bool:
    mine = row.get(field)
    if mine is None:
        return False
    return TESTS[operator](mine, _like(given, mine))


def _like(given: Any, mine: Any) -> Any:
    """What was sent as the kind of value that it is compared with."""
    if isinstance(given, list):
        return [_like(each, mine) for each in given]
    if isinstance(mine, datetime) and isinstance(given, str):
        at = datetime.fromisoformat(given)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if isinstance(mine, datetime) and given is not None:
        return datetime.fromtimestamp(given / 1000, UTC)
    if isinstance(mine, Decimal | int) and isinstance(given, float):
        return Decimal(repr(given))
    return given
