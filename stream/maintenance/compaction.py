"""Compaction: many small data files become few, sorted and well encoded.

Rows that were received after the day they happened on go to a file of their own: the min/max
statistics of each file then let readers skip it. The commit replaces files by files with the same
rows, so a query sees each row exactly once.
"""

import logging
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path

import pyarrow.parquet as pq

from schemas.lake.data_files import data_file_path, file_checksum
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.maintenance.merge_plan import (
    QUIET_MS,
    LiveDataFile,
    live_data_files,
    merge_plan,
)
from stream.maintenance.sorted_rows import (
    PORTION_BYTES,
    PORTION_ROWS,
    ROW_GROUP,
    fitting_rows,
    portion_rows,
    row_group_sizes,
    row_groups,
    row_order,
    sorted_portions,
    survey,
    write_files,
)
from stream.maintenance.source_rows import SourceRows, without_derived_hashes
from stream.maintenance.verification import DamagedFileError, undamaged_files, verified_files
from stream.runtime.allocator import trim_memory
from stream.runtime.errors import Fenced, LedgerMismatch
from stream.state.derived_event_hashes import are_hashes_derived
from stream.storage.delta_commit import LakeTable
from stream.storage.object_store import temporary_directory
from stream.storage.parquet_writer import STATISTICS_COLUMNS, NewDataFile, statistics

log = logging.getLogger(__name__)

MAX_DERIVED_HASHES = 5_000_000
"""Rows of a past day whose deduplication keys are left out: a worker that starts within 27 hours
computes them again, 1 µs each."""
HISTORY_FILE_BYTES = 32 * 1024 * 1024
"""Size of a file of imported rows: some months of a busy website; readers skip the others."""
DAY_MS = 86_400_000
DAMAGE_CONSEQUENCE = "compaction skips it; queries that need it fail"


class Side(StrEnum):
    """Which rows of a day a data file holds."""

    DAY = "day"
    LATE = "late"
    """Rows that happened before the day they were received on."""
    HISTORY = "history"
    """Imported rows."""


def compact(table: LakeTable, settings: Settings) -> None:
    """Merge the files that are due, one commit for each day; damaged files are left unchanged."""
    table.refresh()
    data_files = undamaged_files(table, live_data_files(table.handle, table.table))
    for day, day_files in merge_plan(data_files, now_ms(), settings.small_parts):
        try:
            _compact_day(table, day, day_files)
            trim_memory()
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
    ):
        for side in (Side.HISTORY,) if data_files[0].is_imported else (Side.DAY, Side.LATE):
            target = folder / f"{side}.parquet"
            for path in write_sorted(
                table.table, day, paths, side, target, without_hashes=without_hashes
            ):
                new_files.append(adopt(table, day, path))
                on_error.callback(table.store.remove, new_files[-1].path)
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
    table: Table,
    day: date,
    files: Sequence[Path],
    side: Side,
    target: Path,
    portion: int = PORTION_ROWS,
    row_group: int = ROW_GROUP,
    without_hashes: bool = False,
) -> list[Path]:
    """Write the rows of one side of midnight, sorted in portions of about so many, `row_group` at
    most in a row group; returns the file, or none without rows.

    Imported rows become a folder of files; each covers a range of websites and time. Without
    hashes, deduplication keys are left out where they follow from the event id.
    """
    midnight = datetime.combine(day, time(), UTC)
    source = SourceRows(
        table,
        files,
        since=midnight if side is Side.DAY else None,
        until=midnight if side is Side.LATE else None,
        transform=without_derived_hashes if without_hashes else None,
    )
    order = row_order(table)
    portion = portion_rows(source, portion)
    known = survey(source, order, portion)
    sizes = row_group_sizes(
        known.rows_by_subject, fitting_rows(source, row_group, PORTION_BYTES // 2)
    )
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        portions = sorted_portions(source, order, known, portion, Path(folder))
        groups = row_groups(portions, sizes)
        return write_files(
            table, groups, sizes, target, HISTORY_FILE_BYTES if side is Side.HISTORY else 0
        )


def adopt(table: LakeTable, day: date, file: Path) -> NewDataFile:
    """Move a finished file into the table."""
    names = [table.table.subject_column, table.table.time_column, *STATISTICS_COLUMNS]
    schema = pq.read_schema(file)
    statistics_rows = pq.read_table(file, columns=[name for name in names if name in schema.names])
    path = data_file_path(day.isoformat(), file_checksum(file))
    size = table.store.adopt(file, path)
    return NewDataFile(path, day.isoformat(), size, statistics(table.table, statistics_rows))
