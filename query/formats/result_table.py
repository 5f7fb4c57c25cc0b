"""Result rows as columns and values."""

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, structs

from query.formats.columns import ColumnKind, ResultColumn, Row
from query.standard.declaration.fields import field_specs
from schemas.runtime.clock import parse_instant_ms

KIND_BY_TYPE: Mapping[type, ColumnKind] = {
    str: ColumnKind.TEXT,
    bool: ColumnKind.BOOLEAN,
    int: ColumnKind.INTEGER,
    float: ColumnKind.NUMBER,
}


KIND_BY_UNIT: Mapping[str, ColumnKind] = {
    "instant": ColumnKind.INSTANT,
    "date": ColumnKind.DATE,
}


def result_table(row: type[Struct], rows: Sequence[Any]) -> tuple[list[ResultColumn], list[Row]]:
    """Columns and values of the rows; members that are not in the row shape come last.

    Optional members that no row has are no columns.
    """
    plain: list[Mapping[str, Any]] = msgspec.to_builtins(rows)
    declared = declared_columns(row)
    present = dict.fromkeys(name for values in plain for name in values)
    optional = {f.encode_name for f in structs.fields(row) if f.default is UNSET} - present.keys()
    columns = [column for column in declared if column.name not in optional]
    known = {column.name for column in columns}
    added = [name for name in present if name not in known]
    columns += [
        ResultColumn(name, _inferred_kind([values.get(name) for values in plain])) for name in added
    ]
    return columns, row_values(columns, plain)


def declared_columns(row: type[Struct]) -> list[ResultColumn]:
    """The columns of a row shape, from its types."""
    hints, specs = typing.get_type_hints(row), field_specs(row)
    encoded = {field.name: field.encode_name for field in structs.fields(row)}
    return [
        ResultColumn(encoded[name], KIND_BY_UNIT.get(form.unit) or _kind(hints[name]))
        for name, form in specs.items()
    ]


def row_values(columns: Sequence[ResultColumn], rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The values of the columns, instants as Unix milliseconds."""
    return [[_value(column, row.get(column.name)) for column in columns] for row in rows]


def _value(column: ResultColumn, value: Any) -> Any:
    return (
        parse_instant_ms(value)
        if column.kind is ColumnKind.INSTANT and value is not None
        else value
    )


def _kind(hint: Any) -> ColumnKind:
    if isinstance(hint, types.UnionType):
        hint = next(arg for arg in typing.get_args(hint) if arg is not types.NoneType)
    return KIND_BY_TYPE.get(hint, ColumnKind.NESTED)


def _inferred_kind(values: Sequence[Any]) -> ColumnKind:
    """The kind that fits all values that are not null."""
    types_present = {type(value) for value in values if value is not None}
    if types_present == {int, float}:
        return ColumnKind.NUMBER
    return (
        KIND_BY_TYPE.get(types_present.pop(), ColumnKind.NESTED)
        if len(types_present) == 1
        else ColumnKind.NESTED
    )
