"""Many small parts become few, sorted and well encoded; no query sees a row twice or never.

DuckDB writes Parquet V2 encodings, which its queries read in two thirds of the time; the tables
have no floating point column, so no engine meets an encoding that it cannot read. Rows that were
received after the day they happened on go to a file of their own: each file's borders then let
readers skip.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import date
from enum import StrEnum
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from schemas.lake.data_files import data_file_path, file_checksum
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import Column, ColumnType, Table
from stream.maintenance.merge_plan import LiveDataFile, live_data_files, merge_plan
from stream.maintenance.verification import DamagedFileError, undamaged_files, verified_files
from stream.runtime.errors import Fenced, LedgerMismatch
from stream.storage.delta_commit import LakeTable
from stream.storage.object_store import temporary_directory
from stream.storage.parquet_writer import STATISTICS_COLUMNS, NewDataFile, statistics
from stream.storage.table_schema import DAY_COLUMN

log = logging.getLogger(__name__)

ROW_GROUP = 122_880
HISTORY_FILE_BYTES = 32 * 1024 * 1024
"""Size of a part of history: some months of a busy website, so that readers skip the others."""
MEMORY_LIMIT = "512MB"
DAMAGE_CONSEQUENCE = "compaction goes round it; questions that need it fail"


class Side(StrEnum):
    """Which rows of a day a part holds."""

    DAY = "day"
    LATE = "late"
    """They happened before the day that they were received on."""
    HISTORY = "history"
    """They were imported."""


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
    """Join what is due, one commit for each day; damaged files are left as they are."""
    table.refresh()
    found = undamaged_files(table, live_data_files(table.handle, table.table))
    for day, joined in merge_plan(found, now_ms(), settings.small_parts):
        try:
            _compact_day(table, day, joined)
        except DamagedFileError:  # noted: the next round goes round it
            continue
        except Fenced as refused:  # another keeper was faster
            log.warning("not compacted", extra={"table": table.table.name, "reason": str(refused)})
            return


def _compact_day(table: LakeTable, day: date, joined: Sequence[LiveDataFile]) -> None:
    parts = merge_files(table, day, joined)
    table.replace_same_rows([piece.path for piece in joined], parts, day.isoformat())
    log.info(
        "compacted",
        extra={
            "table": table.table.name,
            "day": day,
            "parts": len(joined),
            "into": len(parts),
            "rows": sum(piece.rows for piece in joined),
        },
    )


def merge_files(table: LakeTable, day: date, joined: Sequence[LiveDataFile]) -> list[NewDataFile]:
    """The same rows in new parts: those in time, and those that came late; history by itself."""
    parts: list[NewDataFile] = []
    with (
        ExitStack() as failing,
        verified_files(table, joined, DAMAGE_CONSEQUENCE) as files,
        temporary_directory(table.store) as folder,
        closing(_connect(folder)) as connection,
    ):
        for side in (Side.HISTORY,) if joined[0].is_imported else (Side.DAY, Side.LATE):
            target = folder / f"{side}.parquet"
            connection.execute(*merge_statement(connection, table.table, day, files, side, target))
            for file in sorted(target.iterdir()) if target.is_dir() else [target]:
                if part := _adopt(table, day, file):
                    failing.callback(table.store.remove, part.path)
                    parts.append(part)
        written = sum(part.stats["numRecords"] for part in parts)
        if written != (read := sum(piece.rows for piece in joined)):
            raise LedgerMismatch(f"{table.table.name}: {written} rows were made of {read}")
        failing.pop_all()
    return parts


def merge_statement(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    day: date,
    files: Sequence[Path],
    side: Side,
    target: Path,
) -> tuple[str, dict[str, object]]:
    """SQL that writes the sorted rows of one side of midnight, and its values.

    History becomes a folder of files, each of which covers a stretch of website and time.
    """
    paths = [str(file) for file in files]
    held = connection.execute(
        "DESCRIBE SELECT * FROM read_parquet(?, union_by_name = true, hive_partitioning = false)",
        [paths],
    ).fetchall()
    columns = ",\n               ".join(_columns(table, {name for name, *_ in held}))
    size = f",\n            FILE_SIZE_BYTES {HISTORY_FILE_BYTES}" if side is Side.HISTORY else ""
    text = f"""
        COPY (
            SELECT {columns}
              FROM read_parquet($files, union_by_name = true, hive_partitioning = false)
             WHERE {_condition(table, side)}
             ORDER BY {", ".join(table.sort_order)}
        ) TO '{str(target).replace("'", "''")}' (
            FORMAT parquet,
            PARQUET_VERSION v2,
            COMPRESSION zstd,
            ROW_GROUP_SIZE {ROW_GROUP}{size}
        )
    """  # noqa: S608 - names are those of our own tables
    if side is Side.HISTORY:
        return text, {"files": paths}
    return text, {"files": paths, "midnight": f"{day} 00:00:00+00"}


def _condition(table: Table, side: Side) -> str:
    if side is Side.HISTORY:
        return "TRUE"
    sign = "<" if side is Side.LATE else ">="
    return f"{table.time_column} {sign} CAST($midnight AS TIMESTAMP WITH TIME ZONE)"


def _columns(table: Table, held: set[str]) -> Iterator[str]:
    """The table's columns; NULL for one that is younger than all the files."""
    for column in table.columns:
        if column.name != DAY_COLUMN:
            yield column.name if column.name in held else _null_column(column)


def _null_column(column: Column) -> str:
    return f"CAST(NULL AS {DUCKDB_TYPES[column.type]}) AS {column.name}"


def _adopt(table: LakeTable, day: date, file: Path) -> NewDataFile | None:
    """The finished file as a part; None when no row is in it."""
    names = [table.table.subject_column, table.table.time_column, *STATISTICS_COLUMNS]
    schema = pq.read_schema(file)
    measured = pq.read_table(file, columns=[name for name in names if name in schema.names])
    if not measured.num_rows:
        return None
    path = data_file_path(day.isoformat(), file_checksum(file))
    size = table.store.adopt(file, path)
    return NewDataFile(path, day.isoformat(), size, statistics(table.table, measured))


def _connect(scratch: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET temp_directory = ?", [str(scratch)])
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
