"""Comparison as columns of a file, beside those of the rows.

For each number of a row: `previous_<field>`, `change_<field>` and `change_percent_<field>`; for a
time series also the bucket that it is compared with, `previous_date`.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from query.formats.columns import ColumnKind, ResultColumn, Row
from query.formats.result_table import declared_columns, result_table
from query.standard.comparison import ComparedRow, Comparison
from query.standard.declaration.query_type import QueryType

NUMBER_KINDS = (ColumnKind.INTEGER, ColumnKind.NUMBER)


def compared_table(
    query_type: QueryType, rows: Sequence[Any], comparison: Comparison | None
) -> tuple[list[ResultColumn], list[Row]]:
    """Columns and values of the rows, and of their comparison if there is one."""
    columns, values = result_table(query_type.row, rows)
    if comparison is None:
        return columns, values
    numbers = _numbers(query_type.row)
    timed = query_type.starts_with_time
    return (
        [*columns, *_columns(columns[0], numbers, timed)],
        [
            [*row, *_values(compared, numbers, timed)]
            for row, compared in zip(values, comparison.rows, strict=True)
        ],
    )


def _numbers(shape: type[Struct]) -> dict[str, ResultColumn]:
    """The columns that are numbers, by field of the shape."""
    fields = [field.name for field in structs.fields(shape)]
    return {
        name: column
        for name, column in zip(fields, declared_columns(shape), strict=True)
        if column.kind in NUMBER_KINDS
    }


def _columns(
    first: ResultColumn, numbers: dict[str, ResultColumn], timed: bool
) -> list[ResultColumn]:
    columns = [ResultColumn(f"previous_{first.name}", first.kind)] if timed else []
    for column in numbers.values():
        columns += [
            ResultColumn(f"previous_{column.name}", column.kind),
            ResultColumn(f"change_{column.name}", column.kind),
            ResultColumn(f"change_percent_{column.name}", ColumnKind.NUMBER),
        ]
    return columns


def _values(compared: ComparedRow, numbers: dict[str, ResultColumn], timed: bool) -> list[Any]:
    previous = compared.previous
    before: dict[str, Any] = {} if previous is None else structs.asdict(previous)
    values: list[Any] = [next(iter(before.values()), None)] if timed else []
    for name in numbers:
        values += [
            before.get(name),
            compared.change.get(name),
            compared.change_percent.get(name),
        ]
    return values
