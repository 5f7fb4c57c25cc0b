"""Values of Trino's JSON as the Python values that DuckDB gives for the same statement."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from query.engine.engine import Row
from query.engine.trino.client import Page

Convert = Callable[[Any], Any]


def rows_of(page: Page) -> list[Row]:
    """The rows of a page."""
    converters = [(i, c) for i, column in enumerate(page.columns) if (c := converter(column.type))]
    if not converters:
        return [tuple(row) for row in page.rows]
    return [_converted(row, converters) for row in page.rows]


def _converted(row: Sequence[Any], converters: Sequence[tuple[int, Convert]]) -> Row:
    values = list(row)
    for i, convert in converters:
        if values[i] is not None:
            values[i] = convert(values[i])
    return tuple(values)


def converter(type_: str) -> Convert | None:
    """How values of a type become Python values; None for those that are such values already."""
    name, _, parameters = type_.partition("(")
    if name == "decimal":
        scale = parameters.rstrip(")").split(",")[-1].strip()
        return int if scale == "0" else Decimal
    if name in ("double", "real"):
        return float  # NaN and infinities are text
    if name == "date":
        return date.fromisoformat
    return _instant if type_.endswith("with time zone") else None


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix(" UTC")).replace(tzinfo=UTC)
