"""Damaged data files: only queries that need one fail.

The error names table and day. A file that fails to read is examined once and reported for all
processes. A result never silently leaves out a damaged file.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
from deltalake.exceptions import DeltaError

from query.engine.data_file_cache import FetchFailed
from query.engine.data_file_source import DataFileSource, LakeFolder
from query.engine.engine import DataFileMissing
from schemas.errors import DataDamaged, Unavailable
from schemas.kinds import DERIVED_TABLES, lake_tables
from schemas.lake.damage_reports import DamagedFile, DamageReports
from schemas.lake.data_files import file_problem, frame_problem, named_checksum
from schemas.lake.delta_table import (
    DataFile,
    TableVersion,
    UnreadableTable,
    open_table,
    read_version,
)
from schemas.tables import Table

DAMAGE_CONSEQUENCE = "queries that need it fail, all others succeed"
EXAMINE_SECONDS = 10.0
_DERIVED = frozenset(derived.table.name for derived in DERIVED_TABLES)
FULL_CHECK_BYTES = 32 * 2**20
"""The regular check reads header and footer only of larger files."""


class DamagedFiles:
    """Known damaged files, and the search for damage after a failed read."""

    def __init__(self, lake: str, data: Path, source: DataFileSource | None = None) -> None:
        self._lake = lake
        self._source = source or LakeFolder(lake)
        self._damage = DamageReports(data)
        self._checked: str | None = None

    def raise_if_damaged(self, data_files: Iterable[DataFile]) -> None:
        """DataDamaged when one of the data files is known to be damaged."""
        reports = self._damage.files()
        if not reports:
            return
        names = {data_file.path.rpartition("/")[2] for data_file in data_files}
        if damaged := [report for name, report in reports.items() if name in names]:
            raise data_damaged_error(damaged)

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:
        """The data files that are not known to be damaged."""
        reports = self._damage.files()
        return [f for f in data_files if f.path.rpartition("/")[2] not in reports]

    async def find_cause(self, paths: Sequence[str]) -> DataDamaged | None:
        """The error of a statement that failed to read these files, if one of them is damaged.

        DataFileMissing when only a local copy was, or a derived file: the query runs once more,
        with a new copy, or with the source of the derived file.
        """
        # In another thread: Landlock restricts the engine's threads to their spill folder.
        damaged = await asyncio.to_thread(self._find_damage, paths)
        return self._error(damaged) if damaged else None

    async def note_failed(self, failed: FetchFailed) -> DataDamaged | None:
        """The error of a file that cannot be fetched; None when it was replaced."""
        path = self._source.local_path(failed.data_file)
        live = await asyncio.to_thread(self._live, [path])
        if path not in live:
            return None
        return self._error([self._note(*live[path], failed.problem)])

    def _error(self, damaged: Sequence[DamagedFile]) -> DataDamaged:
        if any(report.table in _DERIVED for report in damaged):
            raise DataFileMissing  # from now on their sources are read instead
        return data_damaged_error(damaged)

    async def check_newest(self, version: TableVersion) -> None:
        """Read the newest data file of a version, once; Unavailable when the lake is away."""
        newest = max(
            version.data_files,
            key=lambda data_file: (data_file.max_received_ms or 0, data_file.path),
            default=None,
        )
        if newest is None or newest.path == self._checked:
            return
        if problem := await self._problem(newest):
            await asyncio.to_thread(self._note, version.table, newest, problem)
        self._checked = newest.path

    async def _problem(self, data_file: DataFile) -> str | None:
        try:
            if data_file.size > FULL_CHECK_BYTES:
                return await self._source.problem(data_file)
            (path,) = await self._source.fetch([data_file])
        except FetchFailed as failed:
            return failed.problem
        except OSError as error:
            raise Unavailable(f"The data files cannot be read: {error}") from None
        return await asyncio.to_thread(file_problem, Path(path), data_file.size)

    def summary(self) -> str | None:
        """The health detail about damaged files."""
        count = len(self._damage.files())
        return f"damaged: {count} data file{'s' * (count != 1)}" if count else None

    def _note(self, table: Table, data_file: DataFile, problem: str) -> DamagedFile:
        path = f"day={data_file.day}/{data_file.path.rpartition('/')[2]}"
        report = DamagedFile(table.name, path, problem, data_file.rows)
        self._damage.report(report, DAMAGE_CONSEQUENCE)
        return report

    def _find_damage(self, paths: Sequence[str]) -> list[DamagedFile]:
        deadline = time.monotonic() + EXAMINE_SECONDS
        live = self._live(paths)
        if self._source.discard_damaged([data_file for _, data_file in live.values()]):
            raise DataFileMissing
        damaged = [
            self._note(*live[path], problem)
            for path in paths
            if path in live and (problem := frame_problem(Path(path), live[path][1].size))
        ]
        for path in paths if not damaged else ():
            if path in live and (problem := _content_problem(path)):
                damaged.append(self._note(*live[path], problem))
            if time.monotonic() > deadline:
                break
        return damaged

    def _live(self, paths: Sequence[str]) -> dict[str, tuple[Table, DataFile]]:
        """The reported files that are still in the newest versions."""
        wanted = set(paths)
        names = {Path(path).parent.parent.name for path in paths}
        live: dict[str, tuple[Table, DataFile]] = {}
        for table in lake_tables():
            if table.name in names:
                try:
                    handle = open_table(self._lake, table)
                except (DeltaError, OSError, UnreadableTable):
                    continue
                data_files = read_version(handle, table).data_files if handle else ()
                for data_file in data_files:
                    if (path := self._source.local_path(data_file)) in wanted:
                        live[path] = (table, data_file)
        return live


def data_damaged_error(damaged: Sequence[DamagedFile]) -> DataDamaged:
    """The error with table, days and number of files."""
    tables = sorted({report.table for report in damaged})
    days = sorted({report.day for report in damaged})
    files = "a data file" if len(damaged) == 1 else f"{len(damaged)} data files"
    return DataDamaged(
        f"{files[0].upper()}{files[1:]} of table '{', '.join(tables)}' with rows received on "
        f"{', '.join(days)} cannot be read, so the result would be incomplete",
        damaged=[{"table": report.table, "day": report.day} for report in damaged],
    )


def _content_problem(path: str) -> str | None:
    """The damage inside the file; without a checksum it is decoded completely."""
    if named_checksum(path):
        return file_problem(Path(path), None)
    try:
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1")
            result = connection.execute("SELECT * FROM read_parquet(?)", [path])
            while result.fetchmany(4096):
                pass
    except (duckdb.Error, UnicodeDecodeError) as error:
        return f"cannot be decoded ({str(error).splitlines()[0][:200]})"
    return None
