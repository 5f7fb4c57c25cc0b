"""Rows of a derived table: computed by DuckDB from a data file, and written sorted as one file.

They are computed in portions of the sessions or visitors, chosen by their hash, so that the memory
follows from the size of a portion and not from that of the data file. Each portion reads the file.
"""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from schemas.tables import Column, ColumnType, Table
from schemas.tables.derived_table import SOURCE_ROWS, DerivedTable
from stream.maintenance.sorted_rows import (
    PORTION_BYTES,
    PORTION_ROWS,
    ROW_GROUP,
    RowOrder,
    fitting_rows,
    portion_rows,
    row_group_sizes,
    row_groups,
    sorted_portions,
    survey,
    write_files,
)
from stream.maintenance.source_rows import SourceRows
from stream.storage.table_schema import DAY_COLUMN

MEMORY_LIMIT = "512MB"

DUCKDB_TYPES = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.LONG: "BIGINT",
    ColumnType.INTEGER: "INTEGER",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.DECIMAL: "DECIMAL(18, 4)",
    ColumnType.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
}


def column_expressions(table: Table, stored: set[str]) -> Iterator[str]:
    """The table's columns; NULL for one that was added after all the files were written."""
    for column in table.columns:
        if column.name != DAY_COLUMN:
            yield column.name if column.name in stored else _null_column(column)


def _null_column(column: Column) -> str:
    return f"CAST(NULL AS {DUCKDB_TYPES[column.type]}) AS {column.name}"


def connect_duckdb(scratch: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with one thread and little memory, which spills into that folder."""
    connection = duckdb.connect()
    connection.execute("SET temp_directory = ?", [str(scratch)])
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


COMPUTED_ROWS = 450_000
"""Rows of a data file from which one portion is computed, about."""
COMPUTED_ROW_GROUP = 20_480
"""Rows of a row group of a portion: DuckDB has one in memory until it is written."""

ENCODINGS = {
    **dict.fromkeys(
        (
            "ts",
            "last_ts",
            "started_at",
            "ended_at",
            "kafka_offset",
            "last_kafka_offset",
            "visible_time",
        ),
        "DELTA_BINARY_PACKED",
    ),
    **dict.fromkeys(("session_hash", "visitor_hash"), "PLAIN"),
    **dict.fromkeys(("session_id", "anonymous_id"), "DELTA_LENGTH_BYTE_ARRAY"),
}
"""Encodings of columns without a dictionary: a session or visitor seldom has a second row."""


def write_derived(
    derived: DerivedTable, file: Path, result: Path, computed_rows: int = COMPUTED_ROWS
) -> None:
    """Write what is derived from a data file into another one, which may have no rows.

    `computed_rows` is the number of rows of `file` from which rows are computed at once, about.
    """
    with tempfile.TemporaryDirectory(dir=result.parent) as name:
        folder = Path(name)
        source = SourceRows(derived.table, list(_computed(derived, file, folder, computed_rows)))
        _write_sorted(derived, source, folder, result)


def _computed(
    derived: DerivedTable, file: Path, folder: Path, computed_rows: int
) -> Iterator[Path]:
    """The files of the portions, in no order of rows."""
    columns = ", ".join(column_expressions(derived.source, set(pq.read_schema(file).names)))
    portions = max(1, -(-pq.read_metadata(file).num_rows // computed_rows))
    with closing(connect_duckdb(folder)) as connection:
        for number in range(portions):
            connection.execute(
                f"CREATE OR REPLACE VIEW {SOURCE_ROWS} AS SELECT {columns}"  # noqa: S608 - ours
                f" FROM read_parquet({_quoted(file)}, hive_partitioning = false)"
                f" WHERE {derived.portion_column} % {portions} = {number}"
            )
            target = folder / f"{number}.parquet"
            connection.execute(
                f"COPY ({derived.sql}) TO {_quoted(target)} (FORMAT parquet,"
                f" COMPRESSION lz4_raw, ROW_GROUP_SIZE {COMPUTED_ROW_GROUP})"
            )
            yield target


def _write_sorted(derived: DerivedTable, source: SourceRows, folder: Path, result: Path) -> None:
    subject, then, *key = derived.table.sort_order
    order = RowOrder(subject, then, key, is_by_visitor=False)
    portion = portion_rows(source, PORTION_ROWS)
    known = survey(source, order, portion)
    rows = sum(known.rows_by_subject)
    if not rows:
        pq.write_table(source.schema.empty_table(), result, store_schema=False)
        return
    sizes = row_group_sizes([rows], fitting_rows(source, ROW_GROUP, PORTION_BYTES // 2))
    groups = row_groups(sorted_portions(source, order, known, portion, folder), sizes)
    write_files(derived.table, groups, sizes, result, encodings=ENCODINGS, lookup_columns=())


def _quoted(file: Path) -> str:
    text = str(file).replace("'", "''")
    return f"'{text}'"
