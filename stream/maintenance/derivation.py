"""Derivation: the data files of derived tables, one for each settled data file of their source.

A derived data file has the key of its source in its name, so the log of the derived table tells
which are there. What is missing is computed, a portion in each cycle; what belongs to a source that
has been replaced is removed. Nothing depends on it but the time that queries take.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from msgspec import Struct

from schemas.kinds import DERIVED_TABLES
from schemas.lake.data_files import file_checksum
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import DerivedTable
from schemas.tables.derived_table import derived_file_path, derived_key, source_key
from stream.maintenance.derived_rows import write_derived
from stream.maintenance.merge_plan import QUIET_MS, LiveDataFile, live_data_files, merge_plan
from stream.maintenance.verification import (
    DamagedFileError,
    undamaged_files,
    verified_files,
)
from stream.runtime.allocator import trim_memory
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import REWRITE_COUNTER, LakeTable
from stream.storage.object_store import temporary_directory
from stream.storage.parquet_writer import STATISTICS_COLUMNS, NewDataFile, statistics

log = logging.getLogger(__name__)

MIN_ROWS = 20_000
"""Rows from which a data file of a day that still grows gets a derived one: it will be merged."""
PORTION_SECONDS = 20.0
"""After so long the other tasks of the keeper have their turn."""
DAMAGE_CONSEQUENCE = "nothing is derived from it; queries that need it fail"


class Difference(Struct, frozen=True):
    """Missing and superfluous data files of a derived table."""

    missing: Sequence[LiveDataFile]
    """Settled data files of the source."""
    outdated: Sequence[LiveDataFile]
    """Derived data files that are damaged, of another definition, or of a replaced source."""


class Derivation:
    """The task that keeps the derived tables of a table complete."""

    def __init__(self) -> None:
        self._tables: dict[str, LakeTable] = {}

    def __call__(self, source: LakeTable, settings: Settings) -> None:
        for derived in DERIVED_TABLES:
            if derived.source.name != source.table.name:
                continue
            # Opened again after an error: its folder may have been deleted.
            target = self._tables.pop(derived.table.name, None) or LakeTable(
                settings, derived.table
            )
            derive(derived, source, target, settings)
            self._tables[derived.table.name] = target


def derive(derived: DerivedTable, source: LakeTable, target: LakeTable, settings: Settings) -> None:
    """Compute the missing data files of a derived table, at most a portion of them."""
    source.refresh()
    target.refresh()
    rewrites = target.next_offset(REWRITE_COUNTER)
    difference = compare(derived, source, target, settings.small_parts)
    if not difference.missing and not difference.outdated:
        return
    with ExitStack() as on_error:
        written: list[NewDataFile] = []
        until = time.monotonic() + PORTION_SECONDS
        for data_file in difference.missing:
            if time.monotonic() > until:
                break
            try:
                written.append(derive_file(derived, source, target, data_file))
            except DamagedFileError:  # reported: the next cycle skips the file
                continue
            on_error.callback(target.store.remove, written[-1].path)
        removed = _commit(target, difference.outdated, written, rewrites)
        on_error.pop_all()
    log.info(
        "derived",
        extra={
            "table": derived.table.name,
            "files": len(written),
            "files_removed": removed,
            "files_left": len(difference.missing) - len(written),
        },
    )


def _commit(
    target: LakeTable,
    outdated: Sequence[LiveDataFile],
    written: Sequence[NewDataFile],
    rewrites: int,
) -> int:
    """Commit what was written in place of what is outdated; the number of files removed.

    What has the name of an outdated file has its content too: it was damaged, and is whole again.
    Nothing is committed when another keeper did so since `rewrites` was read.
    """
    paths = {file.path for file in written}
    restored = {file.path for file in outdated} & paths
    removed = {f.path: f.day.isoformat() for f in outdated if f.path not in paths}
    added = [file for file in written if file.path not in restored]
    if added or removed:
        try:
            target.replace_files(removed, added, rewrites=rewrites)
        except Fenced as error:  # another commit went first; the next cycle retries
            log.warning("not derived", extra={"table": target.table.name, "reason": str(error)})
    reports = target.damage_reports.of_table(target.table.name)
    for path in restored:
        target.damage_reports.clear(reports[path.rpartition("/")[2]])
    return len(removed)


def compare(
    derived: DerivedTable, source: LakeTable, target: LakeTable, small_parts: int
) -> Difference:
    """The difference between the data files of a source and those derived from them."""
    damaged = target.damage_reports.of_table(derived.table.name)
    sources = {source_key(file.path): file for file in live_data_files(source.handle, source.table)}
    present: dict[str, LiveDataFile] = {}
    outdated = []
    for file in live_data_files(target.handle, derived.table):
        key = derived_key(file.path, derived.definition)
        if key in sources and file.path.rpartition("/")[2] not in damaged:
            present[key] = file
        else:
            outdated.append(file)
    settled = settled_files(undamaged_files(source, list(sources.values())), small_parts)
    return Difference([f for f in settled if source_key(f.path) not in present], outdated)


def settled_files(data_files: Sequence[LiveDataFile], small_parts: int) -> list[LiveDataFile]:
    """The data files that compaction leaves as they are, or that are large."""
    now = now_ms()
    today = datetime.fromtimestamp(now / 1000, UTC).date()
    merged_soon = {
        file.path for _, files in merge_plan(data_files, now, small_parts) for file in files
    }
    return [
        file
        for file in data_files
        if file.path not in merged_soon
        and (file.rows >= MIN_ROWS or (file.day < today and file.modified_ms + QUIET_MS < now))
    ]


def derive_file(
    derived: DerivedTable, source: LakeTable, target: LakeTable, data_file: LiveDataFile
) -> NewDataFile:
    """Compute and store the data file that is derived from this one; it may have no rows."""
    day = data_file.day.isoformat()
    with (
        verified_files(source, [data_file], DAMAGE_CONSEQUENCE) as (file,),
        temporary_directory(target.store) as folder,
    ):
        result = folder / "derived.parquet"
        write_derived(derived, file, result)
        trim_memory()
        path = derived_file_path(
            day, derived.definition, source_key(data_file.path), file_checksum(result)
        )
        stats = _statistics(derived, result)
        return NewDataFile(path, day, target.store.adopt(result, path), stats)


def _statistics(derived: DerivedTable, file: Path) -> dict[str, Any]:
    table = derived.table
    names = [table.subject_column, table.time_column, *STATISTICS_COLUMNS]
    known = set(pq.read_schema(file).names)
    return statistics(table, pq.read_table(file, columns=[n for n in names if n in known]))
