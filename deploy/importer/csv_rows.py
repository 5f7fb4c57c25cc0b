"""Rows of a CSV text with their line numbers; a quote that is never closed is an error.

Python's reader takes all text after an open quote as one cell, up to the end of the file.
"""

import csv
import re
from collections.abc import Iterator

MAX_FIELD_CHARACTERS = 2**22
LINE_BREAK = re.compile("\r\n|\r|\n")


class InvalidFile(Exception):
    """The file cannot be read in its format."""


class _Lines:
    """Lines of a text that tell whether all were read."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        yield from self._lines
        self.ended = True


def csv_rows(text: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the last line and cells of each row; InvalidFile names the line of a quote."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    lines = _Lines(text)
    rows = csv.reader(lines, delimiter=delimiter)
    while True:
        first = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise InvalidFile(
                f"line {first} cannot be read: {error}; is a quote not closed there?"
            ) from None
        if row is None:
            return
        if lines.ended:  # a row that is complete needs no further line
            opened = rows.line_num - _breaks_within(row[-1])
            raise InvalidFile(
                f"line {opened}: a quote opens there and is never closed; correct that line"
            )
        yield rows.line_num, row


def _breaks_within(cell: str) -> int:
    """Line breaks in a cell, the last one excluded."""
    return len(LINE_BREAK.findall(cell)) - cell.endswith(("\r", "\n"))
