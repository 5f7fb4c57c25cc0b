"""A column of a result, and the writer that turns rows into bytes."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from schemas.tables import ColumnType


class ColumnKind(StrEnum):
    """The kind of the values of a column."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    INSTANT = "instant"
    """Unix milliseconds in rows; ISO 8601 where a format is text."""
    NESTED = "nested"
    """Lists and objects; JSON text in formats without them."""


COLUMN_KINDS: Mapping[ColumnType, ColumnKind] = {
    ColumnType.STRING: ColumnKind.TEXT,
    ColumnType.LONG: ColumnKind.INTEGER,
    ColumnType.INTEGER: ColumnKind.INTEGER,
    ColumnType.BOOLEAN: ColumnKind.BOOLEAN,
    ColumnType.DATE: ColumnKind.TEXT,
    ColumnType.DECIMAL: ColumnKind.NUMBER,
    ColumnType.TIMESTAMP: ColumnKind.INSTANT,
}


class ResultColumn(Struct, frozen=True):
    """One column; every value is of its kind or None."""

    name: str
    kind: ColumnKind


Row = Sequence[Any]


class Writer(Protocol):
    """Writes one table: the bytes of `start`, of each call of `rows`, and of `end`."""

    def start(self) -> bytes:
        """Bytes before the rows."""

    def rows(self, rows: Sequence[Row]) -> bytes:
        """Bytes of some rows; empty while the writer buffers them."""

    def end(self) -> bytes:
        """Bytes after the rows."""
