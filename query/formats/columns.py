"""A column of a result, and the writer that turns rows into bytes."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from schemas.tables import ColumnType


class ColumnKind(StrEnum):
    """The kind of the values of a column."""

    TEXT = "text"
    DATE = "date"
    """A day or the local time of a bucket, as text; a date in formats that have local ones."""
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
    ColumnType.DATE: ColumnKind.DATE,
    ColumnType.DECIMAL: ColumnKind.NUMBER,
    ColumnType.TIMESTAMP: ColumnKind.INSTANT,
}


def group_kind(type_: ColumnType, is_bucket: bool) -> ColumnKind:
    """The kind of a group or dimension; buckets of time are dates."""
    return ColumnKind.DATE if is_bucket else COLUMN_KINDS[type_]


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

    def end(self) -> Iterator[bytes]:
        """The bytes after the rows, in pieces."""

    def close(self) -> None:
        """Release what the writer holds, also when it is not at its end."""
