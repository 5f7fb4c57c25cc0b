"""XLSX writer: one worksheet, written row by row into temporary files; memory stays constant.

Cells have the types of their columns. Text is an inline string and never a formula, number or link.
The file is sent when it is complete, so that a result beyond the limits of a worksheet is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileSizeError
from xlsxwriter.worksheet import Worksheet

from query.formats.columns import ColumnKind, ResultColumn, Row
from schemas.errors import ResultTooLarge
from schemas.http.error_bodies import encode_json

MAX_ROWS = 1_048_576
"""Rows of a worksheet, with its header."""
MAX_TEXT_LENGTH = 32_767
"""UTF-16 units of one cell."""
CUT = " … (longer than a cell of xlsx)"
"""Ends a text that a cell does not hold: whoever sends one long text must not refuse all rows."""
MAX_SHEET_BYTES = 2_000_000_000
"""Uncompressed; a zip file without extensions, which every program reads, holds little more."""
MAX_EXACT_INTEGER = 10**15
"""Spreadsheets keep 15 digits; a larger integer is text."""
PIECE_BYTES = 65_536

OPTIONS = {
    "constant_memory": True,
    "remove_timezone": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}
INSTANT_FORMAT = "yyyy\\-mm\\-dd\\ hh:mm:ss.000"
DAY_FORMAT = "yyyy\\-mm\\-dd"
MINUTE_FORMAT = "yyyy\\-mm\\-dd\\ hh:mm"

ADVICE = "use csv, ndjson or parquet, or a shorter time range"


class TextWorksheet(Worksheet):
    """A worksheet without rich text: the package writes a text from `<r>` to `</r>` as XML."""

    def _xml_rich_inline_string(
        self, string: str, attributes: Sequence[tuple[str, Any]] = ()
    ) -> None:
        self._xml_inline_string(string, True, attributes)


class XlsxWriter:
    """An Excel workbook; all its bytes come from `end`."""

    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        self._names = [column.name for column in columns]
        self._writers = [CELL_WRITERS[column.kind] for column in columns]
        self._folder = TemporaryDirectory(prefix="tidemark-xlsx-")
        self._path = Path(self._folder.name, "workbook.xlsx")
        self._workbook = Workbook(self._path, {**OPTIONS, "tmpdir": self._folder.name})
        self._sheet = self._workbook.add_worksheet("data", TextWorksheet)
        self._row_file: Any = self._sheet.row_data_fh
        self._sheet.freeze_panes(1, 0)
        self._formats = {
            text: self._workbook.add_format({"num_format": text})
            for text in ("General", INSTANT_FORMAT, DAY_FORMAT, MINUTE_FORMAT)
        }
        self._count = 0

    def start(self) -> bytes:
        for at, name in enumerate(self._names):
            self.text(at, name)
        self._count = 1
        return b""

    def rows(self, rows: Sequence[Row]) -> bytes:
        if self._count + len(rows) > MAX_ROWS:
            raise ResultTooLarge(
                f"The result has more than {MAX_ROWS - 1:,} rows, which is what an xlsx worksheet "
                f"holds; {ADVICE}"
            )
        for row in rows:
            # A row without cells is no row for some programs.
            self._sheet.write_blank(self._count, 0, None, self._formats["General"])
            for at, (write, value) in enumerate(zip(self._writers, row, strict=True)):
                if value is not None:
                    write(self, at, value)
            self._count += 1
        if self._row_file.tell() > MAX_SHEET_BYTES:
            raise _sheet_too_large()
        return b""

    def end(self) -> Iterator[bytes]:
        try:
            self._workbook.close()
        except FileSizeError:
            raise _sheet_too_large() from None
        with self._path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece

    def close(self) -> None:
        self._row_file.close()
        self._folder.cleanup()

    def text(self, at: int, value: Any) -> None:
        self._sheet.write_string(self._count, at, _fitting(str(value)))

    def integer(self, at: int, value: Any) -> None:
        if abs(value) < MAX_EXACT_INTEGER:
            self._sheet.write_number(self._count, at, value)
        else:
            self.text(at, value)

    def number(self, at: int, value: Any) -> None:
        number = float(value)
        if isfinite(number):
            self._sheet.write_number(self._count, at, number)
        else:
            self.text(at, value)

    def boolean(self, at: int, value: Any) -> None:
        self._sheet.write_boolean(self._count, at, value)

    def instant(self, at: int, value: Any) -> None:
        self._date(at, datetime.fromtimestamp(value / 1000, UTC), INSTANT_FORMAT)

    def date(self, at: int, value: Any) -> None:
        """A day, or the local time of a bucket; other labels are text."""
        try:
            local = datetime.fromisoformat(value)
        except ValueError:
            self.text(at, value)
            return
        is_day = len(value) == len("2026-11-01")
        self._date(at, local, DAY_FORMAT if is_day else MINUTE_FORMAT)

    def nested(self, at: int, value: Any) -> None:
        self.text(at, encode_json(value).decode())

    def _date(self, at: int, time: datetime, format_: str) -> None:
        self._sheet.write_datetime(self._count, at, time, self._formats[format_])


class CellWriter(Protocol):
    """Writes a value that is not null into a column of the current row."""

    def __call__(self, writer: XlsxWriter, at: int, value: Any, /) -> None: ...


CELL_WRITERS: Mapping[ColumnKind, CellWriter] = {
    ColumnKind.TEXT: XlsxWriter.text,
    ColumnKind.DATE: XlsxWriter.date,
    ColumnKind.INTEGER: XlsxWriter.integer,
    ColumnKind.NUMBER: XlsxWriter.number,
    ColumnKind.BOOLEAN: XlsxWriter.boolean,
    ColumnKind.INSTANT: XlsxWriter.instant,
    ColumnKind.NESTED: XlsxWriter.nested,
}
"""The method that writes a value, by the kind of its column."""


def _fitting(text: str) -> str:
    """The text, or as much of it as a cell holds, with a note."""
    if len(text) <= MAX_TEXT_LENGTH // 2:
        return text
    units = text.encode("utf-16-le")
    if len(units) <= 2 * MAX_TEXT_LENGTH:
        return text
    return units[: 2 * (MAX_TEXT_LENGTH - len(CUT))].decode("utf-16-le", "ignore") + CUT


def _sheet_too_large() -> ResultTooLarge:
    return ResultTooLarge(f"The result is larger than an xlsx worksheet may be; {ADVICE}")
