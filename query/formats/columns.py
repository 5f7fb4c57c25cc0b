"""A column of an answer as a table, and the writer that turns rows into bytes."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from schemas.tables import ColumnType


class ColumnKind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    INSTANT = "instant"
    """Unix milliseconds in rows; ISO 8601 where a format is text."""
    NESTED = "nested"
    """Lists and objects; JSON text where a format has none."""


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
    """One column; every value is of its kind, or None."""

    name: str
    kind: ColumnKind


Row = Sequence[Any]


class Writer(Protocol):
    """Writes one table: the bytes of `start`, of every `rows` and of `end`, one after the other."""

    def start(self) -> bytes:
        """What comes before all rows."""

    def rows(self, rows: Sequence[Row]) -> bytes:
        """Some rows; may be empty when they are held back for a larger piece."""

    def end(self) -> bytes:
        """What comes after all rows."""
