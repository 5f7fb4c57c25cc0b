"""Rows of an answer as a table: which columns they have, and their values in that order."""

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from query.formats.columns import Column, Kind, Row
from query.standard.declaration.query_type import forms
from schemas.runtime.clock import instant_ms

PLAIN: Mapping[type, Kind] = {
    str: Kind.TEXT,
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.NUMBER,
}


def table_of(row: type[Struct], rows: Sequence[Any]) -> tuple[list[Column], list[Row]]:
    """The table that rows of that shape make; members that were added to them come last."""
    plain: list[Mapping[str, Any]] = msgspec.to_builtins(rows)
    columns = declared(row)
    known = {column.name for column in columns}
    added = dict.fromkeys(name for each in plain for name in each if name not in known)
    columns += [Column(name, _seen([each.get(name) for each in plain])) for name in added]
    return columns, listed(columns, plain)


def declared(row: type[Struct]) -> list[Column]:
    """The columns of a row shape, by its types."""
    hints, made = typing.get_type_hints(row), forms(row)
    encoded = {field.name: field.encode_name for field in structs.fields(row)}
    return [
        Column(encoded[name], Kind.INSTANT if form.unit == "instant" else _kind(hints[name]))
        for name, form in made.items()
    ]


def listed(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The values of the columns, instants as Unix milliseconds."""
    return [[_value(column, row.get(column.name)) for column in columns] for row in rows]


def _value(column: Column, value: Any) -> Any:
    return instant_ms(value) if column.kind is Kind.INSTANT and value is not None else value


def _kind(hint: Any) -> Kind:
    if isinstance(hint, types.UnionType):
        hint = next(each for each in typing.get_args(hint) if each is not types.NoneType)
    return PLAIN.get(hint, Kind.NESTED)


def _seen(values: Sequence[Any]) -> Kind:
    """The kind that fits all values that are there."""
    there = {type(value) for value in values if value is not None}
    if there == {int, float}:
        return Kind.NUMBER
    return PLAIN.get(there.pop(), Kind.NESTED) if len(there) == 1 else Kind.NESTED
