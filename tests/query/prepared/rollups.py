"""Rollups from columns written down in a test."""

from collections.abc import Mapping, Sequence
from typing import IO

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, ColumnRows
from query.prepared.attribute_rank import RANK_COLUMN
from query.prepared.rollup import SESSION_COLUMN, VISITOR_COLUMN, Columns, Rollup, make_rollup
from query.prepared.rollup_file import (
    HASHES,
    read_column,
    read_contents,
    read_frame,
    read_hashes,
)
from query.prepared.rollup_view import RollupView, WholeView
from query.prepared.shared_ids import ColumnIds, RollupsWithIds, number
from query.prepared.store import RollupKey

Values = Sequence[int] | Sequence[str | None]


def part_of(table: str, **columns: Values) -> Rollup:
    """A rollup of one table; a column of texts begins with `of_`."""
    return make_rollup({table: column_rows(columns)})


def join(
    rollups: Sequence[Rollup], first: int, end: int, *, stored: int | None = None
) -> RollupView:
    """Rollups with visitors and sessions numbered.

    With `stored`, the first so many are stored and have indexes, the others are the rest.
    """
    if stored is None:
        return RollupView(_numbered(rollups, len(rollups)), first, end)
    numbered = _numbered(rollups, stored)
    whole = RollupView(numbered.some(0, stored), 0, 2**31)
    return RollupView(numbered, first, end, WholeView(lambda: whole, lambda _name, make: make()))


def _numbered(rollups: Sequence[Rollup], stored: int) -> RollupsWithIds:
    numbers = {}
    for column in (VISITOR_COLUMN, SESSION_COLUMN):
        hashes = [rollup.hashes[column] for rollup in rollups]
        numbering = number({RollupKey("shop", str(i)): h for i, h in enumerate(hashes[:stored])})
        further = numbering.with_added(hashes[stored:])
        by_part = [*numbering.by_part.values(), *further.by_part]
        numbers[column] = ColumnIds(numbering.hashes, further.new, by_part)
    return RollupsWithIds(rollups, numbers.__getitem__, stored, range(len(rollups)))


def column_rows(columns: Mapping[str, Values]) -> ColumnRows:
    """The rows of one table."""
    numbers, texts = {}, {}
    for name, values in columns.items():
        if name.startswith("of_"):
            texts[name] = sorted({str(value) for value in values if value is not None})
            values = [NO_TEXT if v is None else texts[name].index(str(v)) + 1 for v in values]
        numbers[name] = np.array(values, np.int64)
    numbers.setdefault(RANK_COLUMN, np.zeros(len(columns["quarter"]), np.int64))
    return ColumnRows(numbers, texts)


def columns_of(row: type[Struct], rows: Sequence[Struct]) -> Mapping[str, Values]:
    """The fields of rows as columns."""
    return {name: [getattr(each, name) for each in rows] for name in row.__struct_fields__}


def whole_part(file: IO[bytes], path: str, table: str) -> Rollup:
    """A table of a stored rollup with all of its columns, and all hashes."""

    contents = read_contents(file, path)
    frame = read_frame(file, contents, table)
    numbers, texts = {}, {}
    for name in frame.columns:
        numbers[name], of_column = read_column(file, contents, table, name)
        if name in frame.texts:
            texts[name] = of_column
    columns = Columns(frame.quarters, frame.borders, numbers, texts)
    hashes = {name: read_hashes(file, contents, name) for name in HASHES}
    return Rollup(hashes, {table: columns})
