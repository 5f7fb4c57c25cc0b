"""Compaction: many small data files become few, sorted and well encoded.

DuckDB sorts, `sorted_files` writes. Rows that were received after the day they happened on go to a
file of their own: the min/max statistics of each file then let readers skip it. The commit replaces
files by files with the same rows, so a query sees each row exactly once.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from schemas.lake.data_files import data_file_path, file_checksum
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import Column, ColumnType, Table
from stream.maintenance.merge_plan import (
    QUIET_MS,
    LiveDataFile,
    live_data_files,
    merge_plan,
)
from stream.maintenance.sorted_files import ROW_GROUP, row_group_sizes, visitor_order, write_files
from stream.maintenance.sorted_portions import (
    PORTION_ROWS,
    SortedRows,
    portion_bounds,
    sorted_reader,
    subject_counts,
)
from stream.maintenance.verification import DamagedFileError, undamaged_files, verified_files
from stream.runtime.errors import Fenced, LedgerMismatch
from stream.state.derived_event_hashes import are_hashes_derived
from stream.storage.delta_commit import LakeTable
from stream.storage.object_store import temporary_directory
from stream.storage.parquet_writer import STATISTICS_COLUMNS, NewDataFile, statistics
from stream.storage.table_schema import DAY_COLUMN

log = logging.getLogger(__name__)

MAX_DERIVED_HASHES = 5_000_000
"""Rows of a past day whose deduplication keys are left out: a worker that starts within 27 hours
computes them again, 1 µs each."""
STORED_HASHES = """CASE WHEN COALESCE(event_id, '') = '' OR trusted IS NULL
                        THEN event_hash END AS event_hash"""
"""The keys of requests, and of rows of versions that did not store what the others follow from."""
HISTORY_FILE_BYTES = 32 * 1024 * 1024
"""Size of a file of imported rows: some months of a busy website; readers skip the others."""
MEMORY_LIMIT = "512MB"
DAY_MS = 86_400_000
DAMAGE_CONSEQUENCE = "compaction skips it; queries that need it fail"


class Side(StrEnum):
    """Which rows of a day a data file holds."""

    DAY = "day"
    LATE = "late"
    """Rows that happened before the day they were received on."""
    HISTORY = "history"
    """Imported rows."""


DUCKDB_TYPES = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.LONG: "BIGINT",
    ColumnType.INTEGER: "INTEGER",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.DECIMAL: "DECIMAL(18, 4)",
    ColumnType.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
}


def compact(table: LakeTable, settings: Settings) -> None:
    """Merge the files that are due, one commit for each day; damaged files are left unchanged."""
    table.refresh()
    data_files = undamaged_files(table, live_data_files(table.handle, table.table))
    for day, day_files in merge_plan(data_files, now_ms(), settings.small_parts):
        try:
            _compact_day(table, day, day_files)
        except DamagedFileError:  # reported: the next cycle skips the file
            continue
        except Fenced as error:  # another commit went first
            log.warning("not compacted", extra={"table": table.table.name, "reason": str(error)})
            return


def _compact_day(table: LakeTable, day: date, data_files: Sequence[LiveDataFile]) -> None:
    new_files = merge_files(table, day, data_files)
    table.replace_same_rows([file.path for file in data_files], new_files, day.isoformat())
    log.info(
        "compacted",
        extra={
            "table": table.table.name,
            "day": day,
            "files": len(data_files),
            "files_written": len(new_files),
            "rows": sum(file.rows for file in data_files),
        },
    )


def merge_files(
    table: LakeTable, day: date, data_files: Sequence[LiveDataFile]
) -> list[NewDataFile]:
    """The same rows in new files: one for rows in time, one for late rows; imported rows apart."""
    new_files: list[NewDataFile] = []
    without_hashes = _leaves_hashes_out(table.table, day, data_files)
    with (
        ExitStack() as on_error,
        verified_files(table, data_files, DAMAGE_CONSEQUENCE) as paths,
        temporary_directory(table.store) as folder,
        closing(connect_duckdb(folder)) as connection,
    ):
        for side in (Side.HISTORY,) if data_files[0].is_imported else (Side.DAY, Side.LATE):
            target = folder / f"{side}.parquet"
            write_sorted(
                connection, table.table, day, paths, side, target, without_hashes=without_hashes
            )
            for path in sorted(target.iterdir()) if target.is_dir() else [target]:
                if new_file := adopt(table, day, path):
                    on_error.callback(table.store.remove, new_file.path)
                    new_files.append(new_file)
        written = sum(file.stats["numRecords"] for file in new_files)
        if written != (read := sum(file.rows for file in data_files)):
            raise LedgerMismatch(f"{table.table.name}: {written} rows were written of {read}")
        on_error.pop_all()
    return new_files


def _leaves_hashes_out(table: Table, day: date, data_files: Sequence[LiveDataFile]) -> bool:
    """Whether deduplication needs no stored keys of these rows where they have an event id.

    Imported rows have none in use; of a day that has just ended a worker may not know that it has.
    """
    if not are_hashes_derived(table):
        return False
    if data_files[0].is_imported:
        return True
    ended_ms = datetime.combine(day, time(), UTC).timestamp() * 1000 + DAY_MS
    return (
        now_ms() > ended_ms + QUIET_MS
        and sum(file.rows for file in data_files) <= MAX_DERIVED_HASHES
    )


def write_sorted(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    day: date,
    files: Sequence[Path],
    side: Side,
    target: Path,
    portion: int = PORTION_ROWS,
    row_group: int = ROW_GROUP,
    without_hashes: bool = False,
) -> None:
    """Write the rows of one side of midnight, sorted in portions of about so many, `row_group` at
    most in a row group.

    Imported rows become a folder of files; each covers a range of websites and time. Without
    hashes, deduplication keys are left out where they follow from the event id.
    """
    paths = [str(file) for file in files]
    described = connection.execute(
        "DESCRIBE SELECT * FROM read_parquet(?, union_by_name = true, hive_partitioning = false)",
        [paths],
    ).fetchall()
    midnight = {} if side is Side.HISTORY else {"midnight": f"{day} 00:00:00+00"}
    by_visitor = visitor_order(table)
    columns = list(column_expressions(table, {name for name, *_ in described}))
    if without_hashes:
        columns = [STORED_HASHES if name == "event_hash" else name for name in columns]
    rows = SortedRows(
        columns,
        _condition(table, side),
        by_visitor or table.sort_order,
        {"files": paths, **midnight},
        table.time_column,
        3 if by_visitor else 2,
    )
    sizes = row_group_sizes(subject_counts(connection, rows), row_group)
    reader = sorted_reader(connection, rows, portion_bounds(connection, rows, portion))
    write_files(table, reader, sizes, target, HISTORY_FILE_BYTES if side is Side.HISTORY else 0)


def _condition(table: Table, side: Side) -> str:
    if side is Side.HISTORY:
        return "TRUE"
    sign = "<" if side is Side.LATE else ">="
    return f"{table.time_column} {sign} CAST($midnight AS TIMESTAMP WITH TIME ZONE)"


def column_expressions(table: Table, stored: set[str]) -> Iterator[str]:
    """The table's columns; NULL for one that was added after all the files were written."""
    for column in table.columns:
        if column.name != DAY_COLUMN:
            yield column.name if column.name in stored else _null_column(column)


def _null_column(column: Column) -> str:
    return f"CAST(NULL AS {DUCKDB_TYPES[column.type]}) AS {column.name}"


def adopt(table: LakeTable, day: date, file: Path) -> NewDataFile | None:
    """Move a finished file into the table; None when it has no rows."""
    names = [table.table.subject_column, table.table.time_column, *STATISTICS_COLUMNS]
    schema = pq.read_schema(file)
    statistics_rows = pq.read_table(file, columns=[name for name in names if name in schema.names])
    if not statistics_rows.num_rows:
        return None
    path = data_file_path(day.isoformat(), file_checksum(file))
    size = table.store.adopt(file, path)
    return NewDataFile(path, day.isoformat(), size, statistics(table.table, statistics_rows))


def connect_duckdb(scratch: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with one thread and little memory, which spills into that folder."""
    connection = duckdb.connect()
    connection.execute("SET temp_directory = ?", [str(scratch)])
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
