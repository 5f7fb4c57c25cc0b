"""Damaged data files: only queries that need one fail.

The error names table and day. A file that fails to read is examined once and reported for all
processes. A result never silently leaves out a damaged file.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
from deltalake.exceptions import DeltaError

from schemas.errors import DataDamaged
from schemas.kinds import TABLES
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
FULL_CHECK_BYTES = 32 * 2**20
"""Of larger files the regular check reads header and footer only."""


class DamagedFiles:
    """Known damaged files, and the search for damage after a failed read."""

    def __init__(self, lake: str, data: Path) -> None:
        self._lake = lake
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

    async def find_cause(self, values: Mapping[str, object]) -> DataDamaged | None:
        """The error of a failed statement, if one of its data files is damaged."""
        paths = [
            path
            for value in values.values()
            if isinstance(value, list)
            for path in value
            if isinstance(path, str) and path.endswith(".parquet")
        ]
        # In another thread: Landlock restricts those of the engine to their spill folder.
        damaged = await asyncio.to_thread(self._find_damage, paths)
        return data_damaged_error(damaged) if damaged else None

    async def check_newest(self, version: TableVersion) -> None:
        """Read the newest data file of a version, once."""
        newest = max(
            version.data_files,
            key=lambda data_file: (data_file.max_received_ms or 0, data_file.path),
            default=None,
        )
        if newest is None or newest.path == self._checked:
            return
        is_small = newest.size <= FULL_CHECK_BYTES
        check = file_problem if is_small else frame_problem
        if problem := await asyncio.to_thread(check, Path(newest.path), newest.size):
            await asyncio.to_thread(self._note, version.table, newest, problem)
        self._checked = newest.path

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
        """The files in the newest versions; all others were replaced."""
        names = {Path(path).parent.parent.name for path in paths}
        live: dict[str, tuple[Table, DataFile]] = {}
        for table in TABLES:
            if table.name in names:
                try:
                    handle = open_table(self._lake, table)
                except (DeltaError, OSError, UnreadableTable):
                    continue
                data_files = read_version(handle, table).data_files if handle else ()
                live |= {data_file.path: (table, data_file) for data_file in data_files}
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
    """What is wrong inside the file; without a checksum it is decoded completely."""
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
