"""Rows of many data files in the order of a table, written as few Parquet files.

Order: by subject and time; rows of visitors by visitor within each half hour, because what a
visitor's rows have in common then takes a sixth of the bytes. NULL is last.

Survey: the columns that bound portions are read first, for the rows of each subject and a sample.

Portions: all rows between two bounds, sorted alone, so that few rows are in memory at once. Rows of
one portion stay in memory; others are divided into files first, so that each data file is read
once.

Row groups end where a website ends, so that a query of one website reads no rows of a large
neighbor and few of small ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from schemas.tables import Table
from stream.maintenance.source_rows import SourceRows, joined
from stream.storage.parquet_writer import STATISTICS_COLUMNS

SLOT_MINUTES = 30
"""Time that rows may be sorted by: differences of two times within it fit into 32 bits."""
SLOT_US = SLOT_MINUTES * 60 * 1_000_000

HASH_COLUMNS = ("visitor_hash", "session_hash")

Numbers = NDArray[np.int64]
"""One number for each row."""

NULL_NUMBER = np.iinfo(np.int64).max


class RowOrder(Struct, frozen=True):
    """The columns that rows of a table are sorted by."""

    subject: str
    """A string."""
    time: str
    key: Sequence[str]
    """Further columns, by which no two rows are equal."""
    is_by_visitor: bool
    """Whether visitor and session come before the key, and the time counts by its half hour."""

    @property
    def bound_columns(self) -> Sequence[str]:
        """The columns of `bound_numbers`."""
        return (self.subject, self.time, *(HASH_COLUMNS[:1] if self.is_by_visitor else ()))

    def bound_numbers(self, rows: pa.Table, subjects: pa.Array) -> list[Numbers]:
        """The first numbers to sort by, two or three; `subjects` are the rows' subjects, in order.

        Rows without a visitor come by time, before the others of their slot.
        """
        times = _numbers(rows[self.time])
        subject = _positions(rows[self.subject], subjects)
        if not self.is_by_visitor:
            return [subject, times]
        visitors = _numbers(rows[HASH_COLUMNS[0]])
        visitors = np.where(visitors == NULL_NUMBER, times // 1_000, visitors)
        return [subject, times // SLOT_US, visitors]

    def places(self, rows: pa.Table, subjects: pa.Array) -> Numbers:
        """The number of the row that comes first, of the second, and so on."""
        columns = (*(HASH_COLUMNS[1:] if self.is_by_visitor else ()), *self.key)
        numbers = [*self.bound_numbers(rows, subjects), *(_numbers(rows[c]) for c in columns)]
        return np.lexsort(numbers[::-1]).astype(np.int64)


def row_order(table: Table) -> RowOrder:
    """How merged files of this table are sorted."""
    subject, time, *key = table.sort_order
    return RowOrder(subject, time, key, all(table.column(name) for name in HASH_COLUMNS))


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Numbers in the order of the values."""
    values = column.combine_chunks()
    if pa.types.is_dictionary(values.type):
        ranks = pc.rank(values.dictionary, tiebreaker="min").cast(pa.int64())
        return _filled(ranks.take(values.indices))
    return _filled(values.cast(pa.int64()))


def _positions(column: pa.ChunkedArray, subjects: pa.Array) -> Numbers:
    values = column.combine_chunks()
    return _filled(pc.index_in(values.dictionary, subjects).cast(pa.int64()).take(values.indices))


def _filled(values: pa.Array) -> Numbers:
    numbers: Numbers = values.fill_null(NULL_NUMBER).to_numpy(zero_copy_only=False)
    return numbers


SAMPLE_ROWS = 20_000

Bound = Sequence[int]
"""Numbers to sort by of the first row of a portion."""


class RowSurvey(Struct, frozen=True):
    """Subjects, their rows and the bounds of portions."""

    subjects: pa.Array
    """In order; without NULL, whose rows come last."""
    rows_by_subject: Sequence[int]
    """In that order, with NULL if it has rows."""
    bounds: Sequence[Bound]
    """The bounds between portions."""


def survey(source: SourceRows, order: RowOrder, portion: int) -> RowSurvey:
    """Count the rows, and choose bounds for portions of about so many rows from a sample."""
    counts: Counter[str | None] = Counter()
    sample: list[pa.Table] = []
    step, seen = max(1, source.size[0] // SAMPLE_ROWS), 0
    for rows in source.batches(order.bound_columns):
        for found in pc.value_counts(rows[order.subject]).to_pylist():
            counts[found["values"]] += found["counts"]
        sample.append(rows.take(pa.array(np.arange(-seen % step, rows.num_rows, step))))
        seen += rows.num_rows
    names = sorted(name for name in counts if name is not None)
    subjects = pa.array(names, pa.string())
    by_subject = [counts[name] for name in (*names, None) if counts[name]]
    portions = -(-seen // portion)
    bounds = _bounds(order.bound_numbers(joined(sample), subjects), portions) if sample else []
    return RowSurvey(subjects, by_subject, bounds)


def _bounds(numbers: Sequence[Numbers], portions: int) -> Sequence[Bound]:
    """Numbers of the rows of a sample that divide it into so many parts, as far as rows differ."""
    ordered = np.lexsort(numbers[::-1])
    places = [ordered[len(ordered) * n // portions] for n in range(1, portions)]
    return sorted({tuple(int(number[place]) for number in numbers) for place in places})


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
    """The rows in tables of these sizes, which add up to all rows."""
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
    """The rows in larger tables, of `least` rows or more except the last."""
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


ROW_GROUP = 122_880
"""Most rows of a row group, unless a caller says otherwise."""
SMALL_ROW_GROUP = 16_384
"""Rows of a row group that any number of subjects may share. A smaller one adds more to the footer
than it saves of the rows of others."""
MAX_SHARE = 4
"""Largest ratio of the rows of a larger row group to the rows of each subject in it."""
DICTIONARY_BYTES = 4 * 1024 * 1024
"""Size of a column's dictionary in a row group up to which it has one."""

ENCODINGS = {
    "event_id": "DELTA_LENGTH_BYTE_ARRAY",
    "ts": "DELTA_BINARY_PACKED",
    "received_at": "DELTA_BINARY_PACKED",
    "kafka_offset": "DELTA_BINARY_PACKED",
    "event_hash": "PLAIN",
    "visitor_hash": "PLAIN",
    "session_hash": "PLAIN",
}
"""Encodings of columns without a dictionary: values differ, or equal ones are neighbors."""
RANDOM_COLUMNS = frozenset({"event_id", "event_hash"})
LEVEL, RANDOM_LEVEL = 6, 1
"""Levels of zstd. Higher ones search random values for repetitions, and take more bytes."""

LOOKUP_COLUMNS = ("anonymous_id", "session_id")
"""With Bloom filters: a question about one visitor skips the row groups of others."""
ROWS_A_VALUE = 6
FALSE_POSITIVES = 0.1


def row_group_sizes(rows_by_subject: Iterable[int], most: int = ROW_GROUP) -> list[int]:
    """How many rows each row group has, for the numbers of rows of the subjects in order.

    A subject with more than fit into a row group has some alone, of equal size. Others share one,
    in which each has at least a quarter of the rows, or which is small.
    """
    sizes: list[int] = []
    shared, fewest = 0, most
    for rows in rows_by_subject:
        limit = min(most, max(SMALL_ROW_GROUP, MAX_SHARE * min(fewest, rows)))
        if shared and shared + rows > limit:
            sizes.append(shared)
            shared, fewest = 0, most
        if rows > most:
            groups = -(-rows // most)
            sizes += [rows * (n + 1) // groups - rows * n // groups for n in range(groups)]
        else:
            shared, fewest = shared + rows, min(fewest, rows)
    return [*sizes, shared] if shared else sizes


def write_files(
    table: Table,
    groups: Iterable[pa.Table],
    sizes: Sequence[int],
    target: Path,
    file_bytes: int = 0,
    encodings: Mapping[str, str] = ENCODINGS,
    lookup_columns: Sequence[str] = LOOKUP_COLUMNS,
) -> list[Path]:
    """Write row groups of these sizes into one file; into a folder where `file_bytes` is not 0.

    A file of a folder ends with the row group by which it has so many bytes. No file without rows.
    Columns without an encoding have dictionaries; `lookup_columns` have Bloom filters.
    """
    written: list[Path] = []
    if file_bytes:
        target.mkdir()
    with ExitStack() as opened:
        sink = None
        for group in groups:
            if sink is None or (file_bytes and sink.tell() >= file_bytes):
                opened.close()
                written.append(target / f"{len(written):06}.parquet" if file_bytes else target)
                sink = opened.enter_context(pa.OSFile(str(written[-1]), "wb"))
                options = _options(table, group.schema, encodings)
                options["bloom_filter_options"] = _bloom_filters(lookup_columns, group, sizes)
                writer = opened.enter_context(pq.ParquetWriter(sink, **options))
            writer.write_table(group, group.num_rows)
            del group  # before the next one takes as much memory
    return written


def _options(table: Table, schema: pa.Schema, encodings: Mapping[str, str]) -> dict[str, Any]:
    names = schema.names
    encodings = {name: value for name, value in encodings.items() if name in names}
    return {
        "schema": schema,
        "compression": "zstd",
        "compression_level": {
            name: RANDOM_LEVEL if name in RANDOM_COLUMNS else LEVEL for name in names
        },
        "use_dictionary": [name for name in names if name not in encodings],
        "column_encoding": encodings,
        "dictionary_pagesize_limit": DICTIONARY_BYTES,
        # Bounds of other columns would skip nothing, and the footer is read with each file.
        "write_statistics": [n for n in _bounded_columns(table) if n in names],
        "store_decimal_as_integer": True,
        "store_schema": False,
        "write_page_checksum": True,
    }


def _bounded_columns(table: Table) -> tuple[str, ...]:
    """With min/max statistics; of `event_hash`, workers need the number of NULLs."""
    return (*table.sort_order, *STATISTICS_COLUMNS, "event_hash")


def _bloom_filters(
    names: Sequence[str], group: pa.Table, sizes: Sequence[int]
) -> Mapping[str, Any] | None:
    options = {"ndv": _distinct_values(sizes), "fpp": FALSE_POSITIVES}
    return {name: options for name in names if name in group.schema.names} or None


def _distinct_values(sizes: Sequence[int]) -> int:
    """Estimated distinct values of a lookup column in a row group: all filters have one size."""
    return max(1, sum(size * size for size in sizes) // (ROWS_A_VALUE * max(1, sum(sizes))))
