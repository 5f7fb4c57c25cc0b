"""SourceFile: reads CSV or NDJSON, gzip or plain, line by line."""

import codecs
import csv
import gzip
import hashlib
import io
import re
import shlex
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from deploy.importer.column_mapping import EXPORT_COLUMNS
from deploy.importer.csv_rows import InvalidFile, csv_rows
from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.visits_log import actions_of, is_visit
from query.formats.formula_guard import unguarded

GZIP_MAGIC = b"\x1f\x8b"
BINARY_FILES: Mapping[bytes, str] = {
    b"PK\x03\x04": "a zip file; unpack it, and import the files in it that have one event per line "
    "(Plausible's imported_*.csv have totals, and cannot be imported)",
    b"PAR1": "a Parquet file; export JSON lines or CSV instead (PostHog: JSONLines; BigQuery: "
    "JSON, newline-delimited)",
    b"Obj\x01": "an Avro file; export JSON lines instead (BigQuery: JSON, newline-delimited)",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first (unzstd), or export with gzip",
}
"""Unsupported files by their first bytes: their kind, and what to do instead."""
UNREADABLE = (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error)
"""Errors of damaged files, and of disks."""
FILE_FORMATS = ("csv", "ndjson")
SAMPLE_BYTES = 2**20
DELIMITERS = ",;\t|"
SEPARATOR_LINE = re.compile(r'"?sep=.?"?', re.IGNORECASE)
"""A line before the header by which Excel knows the separator."""

MAX_LINE_CHARACTERS = 2**24


class FileLine(Struct, frozen=True):
    """One line of a file: an event, or the reason why it is invalid."""

    number: int
    """Line number, from 1; of a visits log the number of the action."""
    fields: Mapping[str, Any] = {}
    text: str = ""
    """The content of an invalid line."""
    reason: str = ""


class SourceFile:
    """A file to import; `fraction_read` is the progress of reading it."""

    def __init__(self, path: Path, format_: str | None = None) -> None:
        self.path = path
        self.size = path.stat().st_size
        if not path.is_file():
            raise InvalidFile(f"{path} is no file that can be read again; save what it gives")
        self.fingerprint = _fingerprint(path, self.size)
        _refuse_binary(path)
        start = _read_sample(path)
        self._encoding = _encoding(start)
        head = start.decode(self._encoding, errors="replace")
        if format_ is None and head.lstrip()[:1] == "[":
            raise InvalidFile(
                f"{path.name} is a JSON array; write one object per line into another file: "
                f"{_conversion(path)}"
            )
        self.format = format_ or ("ndjson" if head.lstrip()[:1] == "{" else "csv")
        header = next((line for line in head.splitlines() if not _is_comment(line)), "")
        self._delimiter = max(DELIMITERS, key=header.count)
        self._read = 0

    @property
    def fraction_read(self) -> float:
        """From 0 to 1."""
        return self._read / self.size if self.size else 1.0

    def lines(self) -> Generator[FileLine, None, None]:
        """All lines in order, without empty ones."""
        with self.path.open("rb") as raw, _decompressed(raw) as plain:
            text = io.TextIOWrapper(plain, self._encoding, newline="")
            if self.format == "csv":
                lines = _csv_lines(_bounded_lines(text), self._delimiter)
            else:
                lines = _with_actions(_ndjson_lines(_bounded_lines(text)))
            try:
                for line in lines:
                    self._read = raw.tell()
                    yield line
            except UNREADABLE as error:
                raise InvalidFile(f"{self.path.name} cannot be read further: {error}") from None


@contextmanager
def _decompressed(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """The uncompressed bytes."""
    compressed = raw.read(2) == GZIP_MAGIC
    raw.seek(0)
    if not compressed:
        yield raw
        return
    with gzip.open(raw) as plain:
        yield cast(IO[bytes], plain)


def _read_sample(path: Path) -> bytes:
    """The first bytes, uncompressed."""
    try:
        with path.open("rb") as raw, _decompressed(raw) as plain:
            return plain.read(SAMPLE_BYTES)
    except UNREADABLE as error:
        raise InvalidFile(f"{path.name} cannot be read further: {error}") from None


def _encoding(start: bytes) -> str:
    """UTF-16 with a byte order mark, as Matomo writes tables; else UTF-8."""
    is_utf16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if is_utf16 else "utf-8-sig"


def _refuse_binary(path: Path) -> None:
    """InvalidFile if the file is in a known format that cannot be read line by line."""
    with path.open("rb") as raw:
        start = raw.read(4)
    if start in BINARY_FILES:
        raise InvalidFile(f"{path.name} is {BINARY_FILES[start]}")


def _conversion(path: Path) -> str:
    """The command that writes the objects of an array into another file."""
    with path.open("rb") as raw:
        reader = "gzip -dc" if raw.read(2) == GZIP_MAGIC else "cat"
    name, target = shlex.quote(path.name), shlex.quote(f"{path.stem}.lines.ndjson")
    return f"{reader} {name} | jq -c '.[]' > {target}"


def _fingerprint(path: Path, size: int) -> str:
    """Identifies the same file again: a hash of its size, first and last bytes."""
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as raw:
        for start in (0, max(0, size - SAMPLE_BYTES)):
            raw.seek(start)
            digest.update(raw.read(SAMPLE_BYTES))
    return digest.hexdigest()


def _bounded_lines(text: IO[str]) -> Iterator[str]:
    """The lines of a text; InvalidFile for one that would fill memory."""
    number = 0
    while line := text.readline(MAX_LINE_CHARACTERS + 1):
        number += 1
        if len(line) > MAX_LINE_CHARACTERS:
            raise InvalidFile(
                f"line {number} has more than {MAX_LINE_CHARACTERS:,} characters; "
                "the file must have one event per line"
            )
        yield line


def _csv_lines(text: Iterator[str], delimiter: str) -> Iterator[FileLine]:
    rows = csv_rows(text, delimiter)
    first = next((row for _, row in rows if not _is_comment("".join(row))), None)
    if first is None:
        return
    header = [name.strip() or f"column {number}" for number, name in enumerate(first, 1)]
    if len(set(header)) < len(header):
        raise InvalidFile("the first line must be a header with unique column names")
    guarded = set(header) >= EXPORT_COLUMNS
    for number, row in rows:
        if guarded:
            row = [unguarded(cell) for cell in row]
        if len(row) == len(header):
            yield FileLine(number, dict(zip(header, row, strict=True)))
        elif row:
            reason = f"{len(row)} cells under {len(header)} columns"
            yield FileLine(number, text=delimiter.join(row), reason=reason)


def _is_comment(line: str) -> bool:
    """Whether it may stand before the header: empty, a comment (Google's reports), `sep=;`."""
    text = line.strip()
    return not text or text.startswith("#") or SEPARATOR_LINE.fullmatch(text) is not None


def _ndjson_lines(text: Iterator[str]) -> Iterator[FileLine]:
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            yield FileLine(number, msgspec.json.decode(line, type=dict[str, Any]))
        except (msgspec.DecodeError, RecursionError) as error:
            yield FileLine(number, text=line.rstrip("\r\n"), reason=f"not a JSON object: {error}")


def _with_actions(lines: Iterator[FileLine]) -> Iterator[FileLine]:
    """The actions of a visits log, numbered through the file; other lines as they are."""
    number = 0
    for line in lines:
        if not is_visit(line.fields):
            number = number + 1 if number else 0
            yield replace(line, number=number or line.number)
            continue
        for action in actions_of(line.fields):
            number += 1
            if isinstance(action, InvalidLine):
                text = msgspec.json.encode(line.fields).decode()
                yield FileLine(number, text=text, reason=str(action))
            else:
                yield FileLine(number, action)
