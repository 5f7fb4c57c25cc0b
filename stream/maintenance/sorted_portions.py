"""Sorted rows of many data files, in portions, so that few of the rows are in memory at once.

A portion is all rows between two bounds, and is sorted alone: one after the other they are sorted
as a whole. Rows that fit into one portion stay in memory. Others are divided into files of portions
first, so that each data file is read once, however many there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec import Struct

from stream.maintenance.dictionaries import joined
from stream.maintenance.row_order import Numbers, RowOrder
from stream.maintenance.row_survey import Bound, RowSurvey
from stream.maintenance.source_rows import SourceRows

PORTION_ROWS = 250_000
"""Rows of a portion, about."""
PORTION_BYTES = 128 * 1024 * 1024
"""Bytes of a portion before compression, about, where rows are large."""
MAX_PORTIONS = 256
"""Files of portions, which are open at the same time; of more rows each portion has more."""
DIVIDED_AT_ONCE = 4
"""A portion by the rows that are divided at once."""


class SortedRows(Struct, frozen=True):
    """Rows, and the numbers of the rows in their order."""

    rows: pa.Table
    places: Numbers


def fitting_rows(source: SourceRows, most: int, most_bytes: int) -> int:
    """The number of rows that have so many bytes, and `most` at most."""
    rows, size = source.size
    return max(1, min(most, most_bytes * rows // max(1, size)))


def portion_rows(source: SourceRows, most: int) -> int:
    """The rows of a portion: `most`, fewer where they are large, more beyond MAX_PORTIONS."""
    rows, _ = source.size
    return max(fitting_rows(source, most, PORTION_BYTES), -(-rows // MAX_PORTIONS))


def sorted_portions(
    source: SourceRows, order: RowOrder, known: RowSurvey, portion: int, folder: Path
) -> Iterator[SortedRows]:
    """The rows of each portion, one after the other; `folder` holds those that come later."""
    if not known.bounds:
        batches = list(source.batches())
        if batches:
            yield _sorted(joined(batches), order, known)
        return
    files = [folder / f"{number}.portion" for number in range(len(known.bounds) + 1)]
    _divide(source, order, known, max(1, portion // DIVIDED_AT_ONCE), files)
    for file in files:
        batches = list(_stored(file))
        file.unlink()
        if batches:
            yield _sorted(joined(batches), order, known)


def row_groups(portions: Iterable[SortedRows], sizes: Sequence[int]) -> Iterator[pa.Table]:
    """The rows in tables of these sizes, which are those of all rows together."""
    given = iter(portions)
    rows, left = pa.table({}), np.zeros(0, np.int64)
    for size in sizes:
        parts: list[pa.Table] = []
        wanted = size
        while wanted:
            if not len(left):
                rows = pa.table({})  # the memory of these is given back before others come
                found = next(given)
                rows, left = found.rows, found.places
                del found
            parts.append(rows.take(pa.array(left[:wanted])))
            left = left[wanted:]
            wanted -= parts[-1].num_rows
        yield joined(parts, only_used=True)


def _sorted(rows: pa.Table, order: RowOrder, known: RowSurvey) -> SortedRows:
    return SortedRows(rows, order.places(rows, known.subjects))


def _divide(
    source: SourceRows, order: RowOrder, known: RowSurvey, at_once: int, files: Sequence[Path]
) -> None:
    """Append each row to the file of its portion."""
    with ExitStack() as opened:
        # Rows of a file compress to a third, which takes less than to write them.
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        writers = [
            opened.enter_context(
                pa.ipc.new_stream(
                    opened.enter_context(pa.OSFile(str(file), "wb")), source.schema, options=options
                )
            )
            for file in files
        ]
        for rows in _collected(source.batches(), at_once):
            portions = _portion_numbers(order.bound_numbers(rows, known.subjects), known.bounds)
            ordered = np.argsort(portions, kind="stable")
            ends = np.searchsorted(portions[ordered], np.arange(len(files)), "right")
            for writer, begin, end in zip(writers, (0, *ends), ends, strict=False):
                if begin < end:
                    part = [rows.take(pa.array(ordered[begin:end]))]
                    writer.write_table(joined(part, only_used=True))


def _collected(batches: Iterable[pa.Table], least: int) -> Iterator[pa.Table]:
    """The rows in larger tables, of `least` rows or more but for the last."""
    held: list[pa.Table] = []
    for batch in batches:
        held.append(batch)
        if sum(table.num_rows for table in held) >= least:
            yield joined(held)
    if held:
        yield joined(held)


def _portion_numbers(numbers: Sequence[Numbers], bounds: Sequence[Bound]) -> Numbers:
    """How many of the bounds come before each row, or are equal to it."""
    portions = np.zeros(len(numbers[0]), np.int64)
    for bound in bounds:
        is_before = np.zeros(len(portions), bool)  # the row before the bound
        is_equal = np.ones(len(portions), bool)
        for number, value in zip(numbers, bound, strict=True):
            is_before |= is_equal & (number < value)
            is_equal &= number == value
        portions += ~is_before
    return portions


def _stored(file: Path) -> Iterator[pa.Table]:
    with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as stream:
        for batch in stream:
            yield pa.Table.from_batches([batch])
