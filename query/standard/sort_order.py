"""Sorting: the rows of an answer in the order that was asked, then in the order of their type.

A ratio or a median is sorted by the two decimals that are shown, so that pages fit what is seen.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from query.request.order import OrderTerm
from query.request.suggestions import unknown_name_message
from query.standard.declaration.fields import field_specs
from query.standard.declaration.query_type import QueryType
from schemas.errors import Malformed

RATIO_SQL: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("_part", "_whole"): ("{0} * 100", "{1}"),
    ("_total", "_count"): ("{0}", "{1}"),
    ("_ms", "_count"): ("{0}", "{1} * 1000"),
    ("_low", "_high"): ("{0} + {1}", "2000"),
}
"""The fraction that a form shows, by the suffixes of its columns."""

T = TypeVar("T")


def check_order(query_type: QueryType, orders: Sequence[OrderTerm]) -> Sequence[OrderTerm]:
    """The orders, when the rows of the type have such fields."""
    for i, order in enumerate(orders):
        known = field_specs(query_type.row)
        if order.field not in known:
            raise Malformed(
                unknown_name_message("field", order.field, known, f" in 'orderBy[{i}]'")
            )
    return orders


def order_terms(query_type: QueryType, orders: Sequence[OrderTerm]) -> Sequence[str]:
    """The orders in SQL over the columns that the type gives."""
    return [
        f"{_value(query_type, order.field)} {order.direction.upper()} NULLS LAST"
        for order in orders
    ]


def sort_rows(rows: Iterable[tuple[int, T]], orders: Sequence[OrderTerm]) -> list[tuple[int, T]]:
    """Numbered rows in that order; rows that are equal in it stay as they are."""
    found = list(rows)
    for order in reversed(orders):
        descending = order.direction == "desc"
        found.sort(key=lambda each: _key(each[1], order.field, descending), reverse=descending)
    return found


def _key(row: Any, field: str, descending: bool) -> tuple[bool, Any]:
    value = getattr(row, field)
    absent = value is None
    return (absent is not descending, 0 if absent else value)


def _value(query_type: QueryType, field: str) -> str:
    """The value of a field; a plain one by its position, because SQL may call it otherwise."""
    at = 1
    for name, form in field_specs(query_type.row).items():
        if name == field:
            break
        at += len(form.suffixes)
    if form.sort_sql:
        return form.sort_sql.format(*(f"{field}{suffix}" for suffix in form.suffixes))
    if form.suffixes not in RATIO_SQL:
        return str(at)
    columns = [f"COALESCE({field}{suffix}, 0)" for suffix in form.suffixes]
    numerator, denominator = (each.format(*columns) for each in RATIO_SQL[form.suffixes])
    shown = f"(({numerator}) * 200 + ({denominator})) // NULLIF(2 * ({denominator}), 0)"
    return f"COALESCE({shown}, 0)"
