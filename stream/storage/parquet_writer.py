"""Writes one durable Parquet data file with min/max statistics."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from schemas.lake.data_files import checksum, data_file_path
from schemas.tables import Table
from stream.storage.object_store import TableStorage

STATISTICS_COLUMNS = ("received_at", "kafka_partition")
"""Columns with min/max statistics in the log, where a table has them, besides subject and time.
They must be among the table's first 32: Delta readers ignore the statistics of later columns."""

ENCODINGS = {
    "event_id": "DELTA_LENGTH_BYTE_ARRAY",
    "event_hash": "PLAIN",
    "ts": "DELTA_BINARY_PACKED",
}
"""Encodings of columns without a dictionary: nearly all values differ."""


class NewDataFile(Struct, frozen=True):
    """A data file that was written and is in no table version yet."""

    path: str
    day: str
    size: int
    stats: dict[str, Any]


def write_data_file(store: TableStorage, table: Table, day: str, rows: pa.Table) -> NewDataFile:
    """Write one data file of `day`, sorted by the table's order."""
    rows = _sorted(rows, table)
    plain = {name: value for name, value in ENCODINGS.items() if name in rows.schema.names}
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows,
        sink,
        compression="zstd",
        use_dictionary=[name for name in rows.schema.names if name not in plain],
        column_encoding=plain,
        # A data file is one small row group: statistics of other columns would skip nothing.
        write_statistics=list(table.sort_order),
        write_page_checksum=True,
        # Without Arrow's schema, dictionaries are strings for readers.
        store_schema=False,
    )
    data = sink.getvalue()
    path = data_file_path(day, checksum(memoryview(data)))
    store.put(path, data)
    return NewDataFile(path, day, data.size, statistics(table, rows))


def _sorted(rows: pa.Table, table: Table) -> pa.Table:
    """The rows in the table's order."""
    places = pc.sort_indices(rows, [(name, "ascending") for name in table.sort_order])
    columns = (c if c.null_count == len(c) else c.take(places) for c in rows.columns)
    return pa.Table.from_arrays(list(columns), schema=rows.schema)


def statistics(table: Table, rows: pa.Table) -> dict[str, Any]:
    """Statistics by which a reader skips the file: row count and bounds of a few columns."""
    names = [
        name
        for name in (table.subject_column, table.time_column, *STATISTICS_COLUMNS)
        if name in rows.column_names and rows.num_rows
    ]
    bounds = {name: pc.min_max(rows[name]).as_py() for name in names}
    return {
        "numRecords": rows.num_rows,
        "minValues": {n: _plain(b["min"]) for n, b in bounds.items() if b["min"] is not None},
        "maxValues": {n: _plain(b["max"]) for n, b in bounds.items() if b["max"] is not None},
        "nullCount": {name: rows[name].null_count for name in names},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return f"{value.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
    return value
