"""Comparison of standard queries: which rows belong together, and the change of each.

Buckets of a series are matched by their position in the time range, rows with text by that text,
totals as they are.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from query.formats.columns import ResultColumn, Row
from query.formats.result_table import declared_columns, result_table
from query.request.time_range import SeriesPoint
from query.run.comparison import (
    NUMBER_KINDS,
    ComparedRow,
    Comparison,
    changed_row,
    comparison_columns,
    comparison_values,
    grown_row,
)
from query.standard.declaration.fields import PLAIN_FIELD, field_specs
from query.standard.declaration.query_type import QueryType


def compare_rows(
    rows: Sequence[Struct], previous_rows: Sequence[Struct | None], *, absent_is_zero: bool
) -> Sequence[ComparedRow]:
    """The change of each row."""
    return [
        compare_row(row, previous, absent_is_zero=absent_is_zero)
        for row, previous in zip(rows, previous_rows, strict=True)
    ]


def compare_row(
    row: Struct, previous: Struct | None, *, absent_is_zero: bool = True
) -> ComparedRow:
    """The change of one row; with `absent_is_zero`, the counts of an absent row were 0."""
    numbers = {n: v for n, v in structs.asdict(row).items() if _is_number(v)}
    if previous is not None:
        return changed_row(numbers, structs.asdict(previous), _with_zeros(previous))
    specs = field_specs(type(row))
    return grown_row(
        numbers,
        {
            n: v if absent_is_zero and (isinstance(v, int) or specs[n].is_count) else None
            for n, v in numbers.items()
        },
    )


def _with_zeros(row: Struct) -> Struct:
    """The row as results show it: a ratio of nothing is 0."""
    ratios = [name for name, spec in field_specs(type(row)).items() if spec.is_of_nothing]
    zeros = {name: 0.0 for name in ratios if getattr(row, name) is None}
    return structs.replace(row, **zeros) if zeros else row


def match_by_key(
    previous_rows: Sequence[Struct], rows: Sequence[Struct], keys: Sequence[str]
) -> Sequence[Struct | None]:
    """The previous row of each row, of the same texts; of several the first one counts."""
    by_key = {tuple(getattr(row, key) for key in keys): row for row in reversed(previous_rows)}
    return [by_key.get(tuple(getattr(row, key) for key in keys)) for row in rows]


def match_by_point(
    previous_rows: Sequence[Struct],
    previous_points: Sequence[SeriesPoint],
    rows: Sequence[Struct],
    points: Sequence[SeriesPoint],
    keys: Sequence[str],
) -> Sequence[Struct | None]:
    """The previous row of each row: of the bucket at the same position, and of the same text."""
    previous_keys = _point_keys(previous_rows, previous_points, keys)
    by_key = dict(zip(previous_keys, previous_rows, strict=True))
    return [by_key.get(key) for key in _point_keys(rows, points, keys)]


def _point_keys(
    rows: Sequence[Struct], points: Sequence[SeriesPoint], keys: Sequence[str]
) -> Sequence[tuple[object, ...]]:
    position = {point.label: i for i, point in enumerate(points)}
    texts = [tuple(getattr(row, key) for key in keys) for row in rows]
    labels = [structs.astuple(row)[0] for row in rows]
    return [(position.get(label), *text) for label, text in zip(labels, texts, strict=True)]


def rows_at(rows: Sequence[Struct], positions: Sequence[int]) -> Sequence[Struct | None]:
    """The rows at these positions."""
    return [rows[position] if position < len(rows) else None for position in positions]


def key_fields(query_type: QueryType) -> Sequence[str]:
    """The fields that identify a row: its text, and what else the type declares."""
    kinds = {field.name: field.type for field in structs.fields(query_type.row)}
    return [
        name
        for name, spec in field_specs(query_type.row).items()
        if spec.is_key or (spec is PLAIN_FIELD and kinds[name] in (str, str | None))
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compared_table(
    query_type: QueryType, rows: Sequence[Any], comparison: Comparison | None
) -> tuple[list[ResultColumn], list[Row]]:
    """Columns and values of the rows, and of their comparison if there is one."""
    columns, values = result_table(query_type.row, rows)
    if comparison is None:
        return columns, values
    fields = [field.name for field in structs.fields(query_type.row)]
    declared = dict(zip(fields, declared_columns(query_type.row), strict=True))
    times = fields[:1] if query_type.starts_with_time else []
    numbers = [name for name, column in declared.items() if column.kind in NUMBER_KINDS]
    added = comparison_columns([declared[n] for n in times], [declared[n] for n in numbers])
    both = zip(values, comparison.rows, strict=True)
    return (
        [*columns, *added],
        [[*row, *comparison_values(compared, times, numbers)] for row, compared in both],
    )
