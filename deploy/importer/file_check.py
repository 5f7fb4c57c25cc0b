"""Checks the first 1,000 lines of a file before an import is created."""

from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import islice

from deploy.importer.cell_values import InvalidLine
from deploy.importer.column_mapping import ColumnMapper, InvalidMapping, plan_columns, refuse_kind
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.export_formats import ExportFormat, format_of
from deploy.importer.fields import FIELD_BY_NAME, IMPORT_FIELDS
from deploy.importer.source_file import FileLine, SourceFile
from deploy.importer.totals import refuse_totals

SAMPLE_LINES = 1_000
"""Lines that are checked: lines of NDJSON may have different columns."""


def check_file(file: SourceFile, mapper: ColumnMapper) -> None:
    """InvalidFile or InvalidMapping when no line could be imported."""
    lines = read_sample(file)
    if not lines:
        raise InvalidFile(f"{file.path.name} contains no events")
    columns = list(dict.fromkeys(column for line in lines for column in line.fields))
    if not columns:
        why = lines[0].reason or "an object without fields"
        raise InvalidFile(
            f"{file.path.name} cannot be read as {file.format.upper()}: "
            f"line {lines[0].number}: {why}; use --format to set the format"
        )
    if refusal := next((format_ for format_ in formats_of(lines) if format_.refusal), None):
        raise InvalidMapping(f"the file is an export of {refusal.product}: {refusal.refusal}")
    refuse_kinds(lines, mapper)
    check_columns(list(dict.fromkeys([*columns, *columns_of_formats(lines, mapper)])), mapper)


def refuse_kinds(lines: Sequence[FileLine], mapper: ColumnMapper) -> None:
    """InvalidMapping if a column says what lines are, and is not read."""
    for line in lines:
        if format_of(tuple(line.fields)) is None:
            plan = plan_columns(tuple(line.fields), mapper.overrides)
            try:
                refuse_kind(plan, line.fields)
            except InvalidLine as error:
                raise InvalidMapping(f"line {line.number}: {error}") from None


def formats_of(lines: Sequence[FileLine]) -> Sequence[ExportFormat]:
    """The export formats of these lines."""
    found = dict.fromkeys(tuple(line.fields) for line in lines)
    return [format_ for columns in found if (format_ := format_of(columns))]


def columns_of_formats(lines: Sequence[FileLine], mapper: ColumnMapper) -> Sequence[str]:
    """The columns of the lines as their export format has them."""
    names: dict[str, None] = {}
    for line in lines:
        with suppress(InvalidLine):
            names |= dict.fromkeys(mapper.known_columns(line.fields))
    return list(names)


def read_sample(file: SourceFile) -> list[FileLine]:
    """The first lines of the file."""
    with closing(file.lines()) as lines:
        return list(islice(lines, SAMPLE_LINES))


def check_columns(columns: Sequence[str], mapper: ColumnMapper) -> None:
    """InvalidMapping unless the columns contain the required fields."""
    has = f"the file has the columns {', '.join(columns)}"
    if missing := [column for column in mapper.overrides if column not in columns]:
        raise InvalidMapping(f"the file has no column '{missing[0]}'; it has {', '.join(columns)}")
    refuse_totals(columns, mapper.overrides)
    fields = {field.name for field in plan_columns(columns, mapper.overrides).columns.values()}
    if not fields:
        known = ", ".join(field.columns[0] for field in IMPORT_FIELDS)
        raise InvalidMapping(
            f"no column is recognized; {has}; known names are {known}; or use --map COLUMN=FIELD"
        )
    if "timestamp" not in fields:
        known = ", ".join(FIELD_BY_NAME["timestamp"].columns)
        raise InvalidMapping(
            f"no column contains the time; {has}; known names are {known}; "
            "or use --map COLUMN=timestamp"
        )
