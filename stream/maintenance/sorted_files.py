"""Parquet files of sorted rows: their row groups and encodings.

Row groups end where a website ends. So a question about one website
reads no rows of a large neighbour, and those of few small ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import Table
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
    """Of a lookup column in the row group of an average row, about: all filters have one size."""
    return max(1, sum(size * size for size in sizes) // (ROWS_A_VALUE * max(1, sum(sizes))))
