"""Lines of one file: CSV, JSON lines, Parquet, Snowplow's TSV, or an access log."""

import codecs
import csv
import io
import re
import shlex
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from deploy.importer.containers import PARQUET_MAGIC, Member, opened
from deploy.importer.csv_rows import InvalidFile, csv_rows
from deploy.importer.formats import access_log, snowplow
from query.formats.formula_guard import unguarded

UNREADABLE = (
    *(OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError),
    *(UnicodeDecodeError, csv.Error),
)
"""Errors of damaged files, of unknown methods of compression, and of disks."""
FILE_FORMATS = ("csv", "ndjson")
"""Formats that may be named, where the content does not tell."""
SAMPLE_BYTES = 2**20
DELIMITERS = ",;\t|"
SEPARATOR_LINE = re.compile(r'"?sep=.?"?', re.IGNORECASE)
"""A line before the header by which Excel knows the separator."""
MAX_LINE_CHARACTERS = 2**24
EXPORT_COLUMNS = frozenset(("received_at", "referrer_name", "outbound_domain"))
"""Columns by which an export of Tidemark is recognized; its paths are percent-decoded."""


class FileLine(Struct, frozen=True):
    """One line of a file: an event, or the reason why it is invalid."""

    number: int
    """Line number, from 1; of a visits log the number of the action."""
    fields: Mapping[str, Any] = {}
    text: str = ""
    """The content of an invalid line."""
    reason: str = ""


class Layout(Struct, frozen=True):
    """How the lines of a file are read."""

    format: str
    encoding: str = ""
    delimiter: str = ""


def layout_of(member: Member, format_: str | None = None) -> Layout:
    """By the content, unless the format is named; InvalidFile for a JSON array."""
    with readable(member), opened(member) as (plain, _):
        start = plain.read(SAMPLE_BYTES)
    if start.startswith(PARQUET_MAGIC):
        return Layout("parquet")
    encoding = _encoding(start)
    head = start.decode(encoding, errors="replace")
    if format_ is None and head.lstrip()[:1] == "[" and not access_log.is_log(head):
        raise InvalidFile(
            f"{member.name} is a JSON array; write one object per line into another file: "
            f"{_conversion(member)}"
        )
    header = next((line for line in head.splitlines() if not _is_comment(line)), "")
    if format_ is None:
        format_ = (
            "ndjson"
            if head.lstrip()[:1] == "{"
            else "snowplow"
            if snowplow.is_enriched(header)
            else "access log"
            if access_log.is_log(head)
            else "csv"
        )
    return Layout(format_, encoding, max(DELIMITERS, key=header.count))


def lines_in(plain: IO[bytes], member: Member, layout: Layout) -> Generator[FileLine, None, None]:
    """All lines in order, without empty ones."""
    if layout.format == "parquet":
        from deploy.importer.parquet_rows import parquet_rows  # only few imports need its library

        for number, row in enumerate(parquet_rows(plain, member), 1):
            yield FileLine(number, row)
        return
    with io.TextIOWrapper(plain, layout.encoding, newline="") as wrapped:
        text = _bounded_lines(wrapped)
        if layout.format == "csv":
            yield from _csv_lines(text, layout.delimiter)
        else:
            yield from _parsed_lines(text, layout.format)


def _parsed_lines(text: Iterator[str], format_: str) -> Iterator[FileLine]:
    """Lines without a header."""
    for number, line in enumerate(text, 1):
        content = line.rstrip("\r\n")
        if content.strip():
            yield parsed_line(number, content, format_)


def parsed_line(number: int, content: str, format_: str) -> FileLine:
    """A line that can be read by itself, without its end."""
    if format_ == "ndjson":
        return _json_line(number, content)
    parse = snowplow.parse_line if format_ == "snowplow" else access_log.parse_line
    if fields := parse(content):
        return FileLine(number, fields)
    return FileLine(number, text=content, reason=f"no line of {PARSED_FORMATS[format_]}")


PARSED_FORMATS = {
    "snowplow": f"enriched events of Snowplow, which has {len(snowplow.TSV_COLUMNS)} columns",
    "access log": "an access log in the common or combined format",
}


class readable:  # noqa: N801 - a context manager
    """Errors of damaged files as InvalidFile."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, UNREADABLE):
            raise InvalidFile(f"{self._member.name} cannot be read further: {error}") from None


def _encoding(start: bytes) -> str:
    """UTF-16 with a byte order mark, as Matomo writes tables; else UTF-8."""
    is_utf16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if is_utf16 else "utf-8-sig"


def _conversion(member: Member) -> str:
    """The command that writes the objects of an array into another file."""
    with opened(member) as (plain, raw):
        reader = "cat" if plain is raw else "gzip -dc"
    name, target = shlex.quote(member.name), shlex.quote(f"{Path(member.name).stem}.lines.ndjson")
    return f"{reader} {name} | jq -c '.[]' > {target}"


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


def _json_line(number: int, line: str) -> FileLine:
    try:
        return FileLine(number, msgspec.json.decode(line, type=dict[str, Any]))
    except (msgspec.DecodeError, RecursionError) as error:
        return FileLine(number, text=line, reason=f"not a JSON object: {error}")
