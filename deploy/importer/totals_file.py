"""Reads a file of totals: recognizes its report, and adds its counts up by day and value."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from deploy.importer.column_mapping import InvalidMapping, normalize_column
from deploy.importer.containers import Member, opened
from deploy.importer.file_check import IDENTIFYING_COLUMNS
from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns
from deploy.importer.member_lines import SAMPLE_BYTES, FileLine
from deploy.importer.rejects_file import RejectedLine
from deploy.importer.source_file import SourceFile
from deploy.importer.totals import fathom, google_analytics, matomo, plausible
from deploy.importer.totals.totals_format import (
    InvalidValue,
    TotalsFormat,
    parse_count,
    parse_seconds,
)
from schemas.tables import IMPORTED_TOTALS
from schemas.tables.imported_totals import COUNT_COLUMNS
from stream.storage.table_schema import arrow_schema

FORMATS: Sequence[TotalsFormat] = (
    fathom.FORMAT,
    plausible.FORMAT,
    matomo.FORMAT,
    google_analytics.FORMAT,
)
"""The first that matches is the report of a file."""
SAMPLE_LINES = 100
PORTION_ROWS = 200_000
COUNTS = tuple(column.name for column in COUNT_COLUMNS)
KEYS = ("ts", "dimension", "value")


class Totals(Struct, frozen=True):
    """The totals of a file."""

    report: TotalsFormat
    columns: Sequence[str]
    """By which the report was recognized."""
    rows: pa.Table
    """Columns `ts`, `dimension`, `value` and the counts; in order, each key once."""
    lines: int
    """Lines with totals."""
    rejects: Sequence[RejectedLine]
    left_out: Mapping[str, int]
    """Values that have no form that live rows have, by column."""


class _Reader:
    """Collects the rows of lines."""

    def __init__(self) -> None:
        self.lines = 0
        self.rejects: list[RejectedLine] = []
        self.left_out = Counter[str]()
        self._columns: dict[str, list[Any]] = {name: [] for name in (*KEYS, *COUNTS)}
        self._portions: list[pa.Table] = []

    def add(self, line: FileLine, report: TotalsFormat, comments: str) -> None:
        """Add the totals of a line, or reject it."""
        try:
            if line.reason:
                raise InvalidLine(line.reason)
            cells = report.prepare(_normalized(line.fields))
            rows = list(self._rows_of(cells, report, comments))
        except InvalidLine as error:
            content = line.fields or line.text
            self.rejects.append(RejectedLine(line.number, str(error), content))
            return
        self.lines += 1
        for row in rows:
            for name, values in self._columns.items():
                values.append(row.get(name))
        if len(self._columns["ts"]) >= PORTION_ROWS:
            self._add_up()

    def _rows_of(
        self, cells: Columns, report: TotalsFormat, comments: str
    ) -> Iterator[dict[str, Any]]:
        """A row for each value that the line is about, or one of the whole website."""
        column, parse = next((name, p) for name, p in report.days.items() if name in cells)
        day = dt.datetime.combine(parse(str(cells[column] or ""), comments), dt.time(), dt.UTC)
        by_count = {
            count: next((name for name in names if name in cells), "")
            for count, names in report.counts.items()
        }
        splits = [(name, split) for name in cells for split in report.splits.get(name, ())]
        if not splits or report.has_sums:
            yield {"ts": day, "dimension": "", **_counts(cells, by_count)}
        for name, split in splits:
            try:
                value = split.parse(cells[name])
            except InvalidValue:
                self.left_out[name] += 1
                continue
            counts = _counts(cells, by_count if split.counts is None else split.counts)
            yield {"ts": day, "dimension": split.dimension, "value": value, **counts}

    def totals(self) -> pa.Table:
        """All rows, each key once."""
        self._add_up()
        rows = _added_up(pa.concat_tables(self._portions))
        return rows.sort_by([(name, "ascending") for name in KEYS])

    def _add_up(self) -> None:
        schema = pa.schema([arrow_schema(IMPORTED_TOTALS).field(name) for name in self._columns])
        self._portions.append(_added_up(pa.table(self._columns, schema=schema)))
        for values in self._columns.values():
            values.clear()


def read_totals(file: SourceFile) -> Totals | None:
    """The totals of a file or of all files of a container; None when they are no known report.

    InvalidMapping when only some files are of a report, or a column may split what is added up.
    """
    samples = {name: lines for name, lines in file.samples(SAMPLE_LINES) if lines}
    reports = {name: _report_of_lines(lines) for name, lines in samples.items()}
    report = next(filter(None, reports.values()), None)
    if report is None:
        return None
    if other := next((name for name, found in reports.items() if found is not report), None):
        raise InvalidMapping(
            f"{other} has no totals of {report.product}, and other files have; import them each "
            "by itself"
        )
    for name, lines in samples.items():
        _refuse_other_splits(name, lines, report)
    file.left_out += [member.name for member in file.members if member.name not in samples]
    reader = _Reader()
    for member in file.members:
        if member.name in samples:
            comments = comments_of(member)
            for line in file.lines_of(member):
                reader.add(line, report, comments)
    if not reader.lines:
        reason = f"line {reader.rejects[0].line}: {reader.rejects[0].reason}"
        raise InvalidMapping(f"no line has totals of {report.product}; {reason}")
    columns = list(dict.fromkeys(name for lines in samples.values() for name in lines[0].fields))
    return Totals(
        report, columns, reader.totals(), reader.lines, reader.rejects, dict(reader.left_out)
    )


def _report_of_lines(lines: Sequence[FileLine]) -> TotalsFormat | None:
    return next((report_of(line.fields) for line in lines if line.fields), None)


def report_of(fields: Columns) -> TotalsFormat | None:
    """The report that has lines with these columns."""
    names = frozenset(map(normalize_column, fields))
    if not names.isdisjoint(IDENTIFYING_COLUMNS | {"event"}):
        return None
    return next((report for report in FORMATS if report.matches(names)), None)


def comments_of(member: Member) -> str:
    """The lines before the header of a report of Google."""
    with opened(member) as (plain, _):
        head = plain.read(SAMPLE_BYTES).decode("utf-8", errors="replace")
    return "\n".join(line for line in head.splitlines() if line.startswith("#"))


def _refuse_other_splits(name: str, lines: Sequence[FileLine], report: TotalsFormat) -> None:
    """InvalidMapping for a column with texts that is not read: lines are split by it, too."""
    for line in lines:
        try:
            cells = report.prepare(_normalized(line.fields)) if line.fields else {}
        except InvalidLine:
            continue
        counts = (name for names in report.counts.values() for name in names)
        known = {*report.days, *report.splits, *report.others, *counts}
        for column, cell in cells.items():
            if column not in known and not _is_number(cell):
                raise InvalidMapping(
                    f"{name}: lines of the report of {report.product} are split by the "
                    f"column '{column}' (line {line.number}: '{str(cell)[:40]}'), which is not "
                    "known; export the report without it"
                )


def _is_number(cell: Any) -> bool:
    text = parse_text(cell)
    try:
        return text is None or parse_seconds(text.strip("%$€£ ")) is not None
    except ValueError:
        return False


def _normalized(fields: Columns) -> dict[str, Any]:
    return {normalize_column(column): cell for column, cell in fields.items()}


def _counts(cells: Columns, columns: Mapping[str, str]) -> dict[str, int | None]:
    try:
        return {count: parse_count(cells.get(column)) for count, column in columns.items()}
    except ValueError:
        name = next(name for name in columns.values() if not _is_count(cells.get(name)))
        raise InvalidLine(f"'{name}' is '{str(cells[name])[:40]}', and is no count") from None


def _is_count(cell: Any) -> bool:
    try:
        parse_count(cell)
    except ValueError:
        return False
    return True


def _added_up(rows: pa.Table) -> pa.Table:
    """The rows with each key once; a count stays NULL where no row has it."""
    one = pc.ScalarAggregateOptions(min_count=1)
    sums = rows.group_by(KEYS).aggregate([(name, "sum", one) for name in COUNTS])
    return sums.rename_columns([name.removesuffix("_sum") for name in sums.schema.names])


def with_owner(totals: Totals, website_id: str, import_id: str, received_ms: int) -> pa.Table:
    """The rows of the table `imported_totals`."""
    count, schema = totals.rows.num_rows, arrow_schema(IMPORTED_TOTALS)
    repeated = partial(_repeated, count)
    received = dt.datetime.fromtimestamp(received_ms / 1000, dt.UTC)
    columns = {
        **{name: totals.rows[name] for name in totals.rows.schema.names},
        "website_id": repeated(website_id),
        "received_at": pa.repeat(pa.scalar(received, schema.field("received_at").type), count),
        "product": repeated(totals.report.product),
        "import_id": repeated(import_id),
    }
    return pa.Table.from_arrays(
        [columns[field.name].cast(field.type) for field in schema], schema=schema
    )


def _repeated(count: int, text: str) -> pa.Array:
    return pa.repeat(pa.scalar(text), count)
