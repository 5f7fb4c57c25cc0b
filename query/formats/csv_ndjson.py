"""CSV and NDJSON writers."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from query.formats.columns import ColumnKind, ResultColumn, Row
from query.formats.formula_guard import guarded
from schemas.http.error_bodies import encode_json
from schemas.runtime.clock import format_instant

LINE_ENCODER = msgspec.json.Encoder()

BYTE_ORDER_MARK = "\ufeff".encode()
"""Byte order mark: Excel on Windows recognizes UTF-8 by it."""


def _json_text(value: Any) -> str:
    return encode_json(value).decode()


def _text_boolean(value: bool) -> str:
    return "true" if value else "false"


CELL_WRITERS: Mapping[ColumnKind, Callable[[Any], object]] = {
    ColumnKind.INSTANT: format_instant,
    ColumnKind.NESTED: _json_text,
    ColumnKind.BOOLEAN: _text_boolean,
}
"""Conversions of values to the text of a cell."""


GUARDED = (ColumnKind.TEXT, ColumnKind.NESTED)
"""Kinds of columns that have texts of strangers."""


class CsvWriter:
    """RFC 4180: a header, CRLF, quotes where needed; null is an empty cell.

    No text is run as a formula: an apostrophe stands wherever one might begin (`formula_guard`).
    """

    def __init__(self, columns: Sequence[ResultColumn], bom: bool = False) -> None:
        self._columns = columns
        self._mark = BYTE_ORDER_MARK if bom else b""
        self._cells = [
            (i, CELL_WRITERS[c.kind]) for i, c in enumerate(columns) if c.kind in CELL_WRITERS
        ]
        self._texts = [i for i, column in enumerate(columns) if column.kind in GUARDED]

    def start(self) -> bytes:
        return self._mark + self._lines([[column.name for column in self._columns]])

    def rows(self, rows: Sequence[Row]) -> bytes:
        return self._lines([self._line(row) for row in rows])

    def end(self) -> Iterator[bytes]:
        yield b""

    def close(self) -> None:
        pass

    def _line(self, row: Row) -> Row:
        cells = list(row)
        for at, cell in self._cells:
            if cells[at] is not None:
                cells[at] = cell(cells[at])
        for at in self._texts:
            if cells[at]:
                cells[at] = guarded(cells[at])
        return cells

    def _lines(self, rows: Sequence[Row]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        return text.getvalue().encode()


class RawCsvWriter(CsvWriter):
    """CSV with unescaped text, for programs."""

    def __init__(self, columns: Sequence[ResultColumn], bom: bool = False) -> None:
        super().__init__(columns, bom)
        self._texts = []


class NdjsonWriter:
    """One JSON object per line."""

    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        self._names = [column.name for column in columns]
        self._instants = [
            i for i, column in enumerate(columns) if column.kind is ColumnKind.INSTANT
        ]

    def start(self) -> bytes:
        return b""

    def rows(self, rows: Sequence[Row]) -> bytes:
        return LINE_ENCODER.encode_lines([self._line(row) for row in rows])

    def end(self) -> Iterator[bytes]:
        yield b""

    def close(self) -> None:
        pass

    def _line(self, row: Row) -> Mapping[str, Any]:
        values = list(row)
        for at in self._instants:
            values[at] = format_instant(values[at])
        return dict(zip(self._names, values, strict=True))
