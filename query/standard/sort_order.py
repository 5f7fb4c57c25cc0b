"""`orderBy` in SQL and in Python: the requested order first, then that of the query type.

A ratio or a median is sorted by its two decimals, so that pages agree with the values sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET

from query.request.order import OrderTerm
from query.request.suggestions import unknown_name_message
from query.standard.declaration.fields import ListField, field_specs
from query.standard.declaration.query_type import QueryType
from schemas.errors import Malformed

RATIO_SQL: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("_part", "_whole"): ("{0} * 100", "{1}"),
    ("_total", "_count"): ("{0}", "{1}"),
    ("_ms", "_count"): ("{0}", "{1} * 1000"),
    ("_low", "_high"): ("{0} + {1}", "2000"),
}
"""Numerator and denominator of a ratio, by the suffixes of its columns."""

T = TypeVar("T")


def check_order(query_type: QueryType, orders: Sequence[OrderTerm]) -> Sequence[OrderTerm]:
    """The order terms; Malformed when the rows of the type have no such field, or a list in it."""
    known = [name for name, spec in field_specs(query_type.row).items() if spec is not ListField]
    for i, order in enumerate(orders):
        if order.field not in known:
            raise Malformed(
                unknown_name_message("field", order.field, known, f" in 'orderBy[{i}]'")
            )
    return orders


def order_terms(query_type: QueryType, orders: Sequence[OrderTerm]) -> Sequence[str]:
    """The order terms as SQL over the columns that the type selects."""
    return [
        f"{_value(query_type, order.field)} {order.direction.upper()} NULLS LAST"
        for order in orders
    ]


def sort_rows(rows: Iterable[tuple[int, T]], orders: Sequence[OrderTerm]) -> list[tuple[int, T]]:
    """Numbered rows in that order; a stable sort keeps the order of equal rows."""
    ordered = list(rows)
    for order in reversed(orders):
        descending = order.direction == "desc"
        ordered.sort(key=lambda item: _key(item[1], order.field, descending), reverse=descending)
    return ordered


def _key(row: Any, field: str, descending: bool) -> tuple[bool, Any]:
    value = getattr(row, field)
    absent = value is None or value is UNSET
    return (absent is not descending, 0 if absent else value)


def _value(query_type: QueryType, field: str) -> str:
    """SQL for the value of a field; a plain one by position, as its SQL name may differ."""
    position = 1
    for name, spec in field_specs(query_type.row).items():
        if name == field:
            break
        position += len(spec.suffixes)
    if spec.sort_sql:
        return spec.sort_sql.format(*(f"{field}{suffix}" for suffix in spec.suffixes))
    if spec.suffixes not in RATIO_SQL:
        return str(position)
    columns = [f"COALESCE({field}{suffix}, 0)" for suffix in spec.suffixes]
    numerator, denominator = (part.format(*columns) for part in RATIO_SQL[spec.suffixes])
    dividend = f"({numerator}) * 200 + ({denominator})"
    return f"COALESCE(INT_DIV({dividend}, NULLIF(2 * ({denominator}), 0)), 0)"
