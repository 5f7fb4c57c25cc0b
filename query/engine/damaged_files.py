"""Damaged data files: a question that needs one is refused by table and day, others are answered.

What a reader stumbles over is examined once, and noted for all processes. An answer never leaves a
damaged file out: that would be fewer rows without a word.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
from deltalake.exceptions import DeltaError

from schemas.errors import DataDamaged
from schemas.lake.damage_reports import DamagedFile, DamageReports
from schemas.lake.data_files import file_problem, frame_problem, named_checksum
from schemas.lake.delta_table import (
    DataFile,
    TableVersion,
    UnreadableTable,
    open_table,
    read_version,
)
from schemas.tables import TABLES, Table

DAMAGE_CONSEQUENCE = "questions that need it fail, all others are answered"
EXAMINE_SECONDS = 10.0
FULL_CHECK_BYTES = 32 * 2**20
"""Of a larger file the regular look takes in the ends only."""


class DamagedFiles:
    """What is known to be damaged, and what is found out when reading fails."""

    def __init__(self, lake: str, data: Path) -> None:
        self._lake = lake
        self._damage = DamageReports(data)
        self._checked: str | None = None

    def raise_if_damaged(self, parts: Iterable[DataFile]) -> None:
        """DataDamaged when one of the parts is known to be."""
        noted = self._damage.files()
        if not noted:
            return
        names = {part.path.rpartition("/")[2] for part in parts}
        if found := [note for name, note in noted.items() if name in names]:
            raise data_damaged_error(found)

    async def find_cause(self, values: Mapping[str, object]) -> DataDamaged | None:
        """Why a statement over these values failed, if one of its data files is damaged."""
        paths = [
            path
            for value in values.values()
            if isinstance(value, list)
            for path in value
            if isinstance(path, str) and path.endswith(".parquet")
        ]
        # In a thread of its own: those of the engine may write nothing but their spill.
        found = await asyncio.to_thread(self._find_damage, paths)
        return data_damaged_error(found) if found else None

    async def check_newest(self, version: TableVersion) -> None:
        """Read the newest data file of a version, once."""
        newest = max(
            version.data_files,
            key=lambda part: (part.max_received_ms or 0, part.path),
            default=None,
        )
        if newest is None or newest.path == self._checked:
            return
        whole = newest.size <= FULL_CHECK_BYTES
        check = file_problem if whole else frame_problem
        if problem := await asyncio.to_thread(check, Path(newest.path), newest.size):
            await asyncio.to_thread(self._note, version.table, newest, problem)
        self._checked = newest.path

    def summary(self) -> str | None:
        """What health says about it."""
        count = len(self._damage.files())
        return f"damaged: {count} data file{'s' * (count != 1)}" if count else None

    def _note(self, table: Table, part: DataFile, problem: str) -> DamagedFile:
        path = f"day={part.day}/{part.path.rpartition('/')[2]}"
        note = DamagedFile(table.name, path, problem, part.rows)
        self._damage.report(note, DAMAGE_CONSEQUENCE)
        return note

    def _find_damage(self, paths: Sequence[str]) -> list[DamagedFile]:
        until = time.monotonic() + EXAMINE_SECONDS
        live = self._live(paths)
        found = [
            self._note(*live[path], problem)
            for path in paths
            if path in live and (problem := frame_problem(Path(path), live[path][1].size))
        ]
        for path in paths if not found else ():
            if path in live and (problem := _content_problem(path)):
                found.append(self._note(*live[path], problem))
            if time.monotonic() > until:
                break
        return found

    def _live(self, paths: Sequence[str]) -> dict[str, tuple[Table, DataFile]]:
        """Those that the newest versions name; what is not among them was compacted away."""
        names = {Path(path).parent.parent.name for path in paths}
        live: dict[str, tuple[Table, DataFile]] = {}
        for table in TABLES:
            if table.name in names:
                try:
                    handle = open_table(self._lake, table)
                except (DeltaError, OSError, UnreadableTable):
                    continue
                parts = read_version(handle, table).data_files if handle else ()
                live |= {part.path: (table, part) for part in parts}
        return live


def data_damaged_error(found: Sequence[DamagedFile]) -> DataDamaged:
    """The failure in the caller's words: which table, which days, how many files."""
    tables = sorted({note.table for note in found})
    days = sorted({note.day for note in found})
    files = "a data file" if len(found) == 1 else f"{len(found)} data files"
    return DataDamaged(
        f"{files[0].upper()}{files[1:]} of table '{', '.join(tables)}' with rows received on "
        f"{', '.join(days)} cannot be read, so the answer would be incomplete",
        damaged=[{"table": note.table, "day": note.day} for note in found],
    )


def _content_problem(path: str) -> str | None:
    """What is wrong inside; a file without a checksum is decoded as a whole."""
    if named_checksum(path):
        return file_problem(Path(path), None)
    try:
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1")
            found = connection.execute("SELECT * FROM read_parquet(?)", [path])
            while found.fetchmany(4096):
                pass
    except (duckdb.Error, UnicodeDecodeError) as bad:
        return f"cannot be decoded ({str(bad).splitlines()[0][:200]})"
    return None
