"""Parquet files of sorted rows: their order, row groups and encodings.

A visitor's rows of half an hour are neighbours, because what they have in common then takes next to
no bytes: a sixth of a file. Row groups end where a website ends. So a question about one website
reads no rows of a large neighbour, and those of few small ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import Table
from stream.maintenance.sorted_portions import SLOT_MINUTES
from stream.storage.parquet_writer import STATISTICS_COLUMNS

ROW_GROUP = 122_880
"""Most rows of a row group, unless a caller says otherwise."""
SMALL_ROW_GROUP = 16_384
"""Rows of a row group that any number of subjects may share. A smaller one adds more to the footer
than it saves of the rows of others."""
MAX_SHARE = 4
"""Rows of a larger row group by those of each subject in it, at most."""
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
"""Of columns without a dictionary: nearly all values differ, or equal ones are neighbours."""
RANDOM_COLUMNS = frozenset({"event_id", "event_hash"})
LEVEL, RANDOM_LEVEL = 6, 1
"""Of zstd. Higher ones look for repetitions in random values, and take more bytes."""

LOOKUP_COLUMNS = ("anonymous_id", "session_id")
"""With Bloom filters: a question about one visitor skips the row groups of others."""
ROWS_A_VALUE = 6
FALSE_POSITIVES = 0.1

HASH_COLUMNS = ("visitor_hash", "session_hash")


def visitor_order(table: Table) -> tuple[str, ...] | None:
    """Expressions by which rows of visitors are sorted; None for tables of something else.

    Rows without a visitor come by time, before the others of their slot.
    """
    if not all(table.column(name) for name in HASH_COLUMNS):
        return None
    subject, time, *key = table.sort_order
    visitor, session = HASH_COLUMNS
    slot = f"time_bucket(INTERVAL {SLOT_MINUTES} MINUTE, {time})"
    return (subject, slot, f"COALESCE({visitor}, epoch_ms({time}))", session, *key)


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
    table: Table, rows: pa.RecordBatchReader, sizes: Sequence[int], target: Path, file_bytes: int
) -> None:
    """Write one file with row groups of these sizes; into a folder where `file_bytes` is not 0.

    A file of a folder ends with the row group by which it has so many bytes.
    """
    options = _options(table, rows.schema, sizes)
    groups = _row_groups(rows, sizes)
    if not file_bytes:
        _write_file(options, groups, target, 0)
        return
    target.mkdir()
    number = 0
    while _write_file(options, groups, target / f"{number:06}.parquet", file_bytes):
        number += 1


def _write_file(
    options: Mapping[str, Any], groups: Iterator[pa.Table], target: Path, file_bytes: int
) -> bool:
    """Whether rows may be left."""
    with (
        pa.OSFile(str(target), "wb") as sink,
        pq.ParquetWriter(sink, **options) as writer,
    ):
        for group in groups:
            writer.write_table(group, group.num_rows)
            if file_bytes and sink.tell() >= file_bytes:
                return True
    return False


def _options(table: Table, schema: pa.Schema, sizes: Sequence[int]) -> Mapping[str, Any]:
    names = schema.names
    encodings = {name: value for name, value in ENCODINGS.items() if name in names}
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
        "bloom_filter_options": {
            name: {"ndv": _distinct_values(sizes), "fpp": FALSE_POSITIVES}
            for name in LOOKUP_COLUMNS
            if name in names
        },
        "store_decimal_as_integer": True,
        "store_schema": False,
        "write_page_checksum": True,
    }


def _bounded_columns(table: Table) -> tuple[str, ...]:
    """With min/max statistics; of `event_hash`, workers need the number of NULLs."""
    return (*table.sort_order, *STATISTICS_COLUMNS, "event_hash")


def _distinct_values(sizes: Sequence[int]) -> int:
    """Of a lookup column in the row group of an average row, about: all filters have one size."""
    return max(1, sum(size * size for size in sizes) // (ROWS_A_VALUE * max(1, sum(sizes))))


def _row_groups(rows: pa.RecordBatchReader, sizes: Sequence[int]) -> Iterator[pa.Table]:
    """The rows in tables of these sizes; the last has what is left."""
    held: list[pa.RecordBatch] = []
    count, wanted = 0, iter(sizes)
    size = next(wanted, ROW_GROUP)
    for batch in rows:
        held.append(batch)
        count += batch.num_rows
        while count >= size:
            table = pa.Table.from_batches(held)
            yield table.slice(0, size)
            held, count = table.slice(size).to_batches(), count - size
            size = next(wanted, ROW_GROUP)
    if count:
        yield pa.Table.from_batches(held)
