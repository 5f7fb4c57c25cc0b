"""A file of events, line by line: CSV or NDJSON, gzip or plain; what is broken is named."""

import csv
import gzip
import hashlib
import io
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from msgspec import Struct

from deploy.importer.column_mapping import OURS
from query.formats.csv_ndjson import GUARDED

GZIP = b"\x1f\x8b"
FORMATS = ("csv", "ndjson")
SAMPLE = 2**20
DELIMITERS = ",;\t|"

csv.field_size_limit(2**22)


class BadFile(Exception):
    """The file cannot be read as what it should be."""


class Line(Struct, frozen=True):
    """One event of a file, or why it is none."""

    number: int
    """The first line of the file is 1."""
    fields: Mapping[str, Any] = {}
    text: str = ""
    """What stood there, when it is no event."""
    reason: str = ""


class File:
    """One file; `part` says how much of it was read."""

    def __init__(self, path: Path, format_: str | None = None) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.fingerprint = _fingerprint(path, self.size)
        head = _head(path)
        self.format = format_ or ("ndjson" if head.lstrip()[:1] == "{" else "csv")
        self._delimiter = max(DELIMITERS, key=head.partition("\n")[0].count)
        self._read = 0

    @property
    def part(self) -> float:
        """From 0 to 1."""
        return self._read / self.size if self.size else 1.0

    def lines(self) -> Generator[Line, None, None]:
        """Every event, in order; empty lines are none."""
        with self.path.open("rb") as raw, _unpacked(raw) as unpacked:
            text = io.TextIOWrapper(unpacked, "utf-8-sig", newline="")
            found = _records(text, self._delimiter) if self.format == "csv" else _objects(text)
            try:
                for line in found:
                    self._read = raw.tell()
                    yield line
            except (OSError, EOFError, UnicodeDecodeError, csv.Error) as broken:
                raise BadFile(f"{self.path.name} cannot be read on: {broken}") from None


@contextmanager
def _unpacked(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """The bytes as they were before they were packed."""
    packed = raw.read(2) == GZIP
    raw.seek(0)
    if not packed:
        yield raw
        return
    with gzip.open(raw) as unpacked:
        yield cast(IO[bytes], unpacked)


def _head(path: Path) -> str:
    """The beginning of the text."""
    try:
        with path.open("rb") as raw, _unpacked(raw) as unpacked:
            return unpacked.read(SAMPLE).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError) as broken:
        raise BadFile(f"{path.name} cannot be read on: {broken}") from None


def _fingerprint(path: Path, size: int) -> str:
    """By which the same file is known again: its size, its beginning and its end."""
    said = hashlib.sha256(str(size).encode())
    with path.open("rb") as raw:
        for start in (0, max(0, size - SAMPLE)):
            raw.seek(start)
            said.update(raw.read(SAMPLE))
    return said.hexdigest()


def _records(text: IO[str], delimiter: str) -> Iterator[Line]:
    rows = csv.reader(text, delimiter=delimiter)
    if (first := next(rows, None)) is None:
        return
    header = [name.strip() for name in first]
    if len(set(header)) < len(header) or not any(header):
        raise BadFile("the first line must name the columns, each once")
    guarded = set(header) >= OURS
    for row in rows:
        if guarded:
            row = [_unguarded(cell) for cell in row]
        if len(row) == len(header):
            yield Line(rows.line_num, dict(zip(header, row, strict=True)))
        elif row:
            reason = f"{len(row)} cells under {len(header)} columns"
            yield Line(rows.line_num, text=delimiter.join(row), reason=reason)


def _unguarded(cell: str) -> str:
    """The text of a cell, without the apostrophe that kept a spreadsheet from computing it."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in GUARDED else cell


def _objects(text: IO[str]) -> Iterator[Line]:
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            yield Line(number, msgspec.json.decode(line, type=dict[str, Any]))
        except (msgspec.DecodeError, RecursionError) as bad:
            yield Line(number, text=line.rstrip("\r\n"), reason=f"no JSON object: {bad}")
