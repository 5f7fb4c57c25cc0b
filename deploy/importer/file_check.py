"""Looks at the beginning of a file before an import is made of it: can anything of it be taken?"""

from collections.abc import Sequence
from contextlib import closing
from itertools import islice

from deploy.importer.column_mapping import BadMapping, Mapper, planned
from deploy.importer.fields import BY_NAME, FIELDS
from deploy.importer.source_file import BadFile, File, Line

FIRST = 1_000
"""Lines that are looked at: those of NDJSON need not have the same columns."""


def check(file: File, mapper: Mapper) -> None:
    """BadFile or BadMapping when no line could be taken, or `--map` names what is not there."""
    lines = first(file)
    if not lines:
        raise BadFile(f"{file.path.name} holds no events")
    columns = list(dict.fromkeys(column for line in lines for column in line.fields))
    if not columns:
        why = lines[0].reason or "an object without fields"
        raise BadFile(
            f"{file.path.name} cannot be read as {file.format.upper()}: "
            f"line {lines[0].number}: {why}; --format says which format it is"
        )
    mapped(columns, mapper)


def first(file: File) -> list[Line]:
    """The beginning of the file."""
    with closing(file.lines()) as lines:
        return list(islice(lines, FIRST))


def mapped(columns: Sequence[str], mapper: Mapper) -> None:
    """BadMapping unless these columns hold what every event needs."""
    has = f"the file has the columns {', '.join(columns)}"
    if missing := [column for column in mapper.given if column not in columns]:
        raise BadMapping(f"the file has no column '{missing[0]}'; it has {', '.join(columns)}")
    fields = {field.name for field in planned(columns, mapper.given).columns.values()}
    if not fields:
        known = ", ".join(field.columns[0] for field in FIELDS)
        raise BadMapping(f"no column is known; {has}; known are {known}; or --map COLUMN=FIELD")
    if "timestamp" not in fields:
        known = ", ".join(BY_NAME["timestamp"].columns)
        raise BadMapping(
            f"no column holds the time; {has}; known are {known}; or --map COLUMN=timestamp"
        )
