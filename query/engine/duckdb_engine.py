"""DuckDB as engine: one hardened instance per pool, interrupted on timeout.

SQL text never comes from a request; `hardening.py` is the second line of defence.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

import duckdb

from query.engine import cursor_work
from query.engine.column_rows import ColumnRows
from query.engine.damaged_files import DamagedFiles
from query.engine.data_file_cache import FetchFailed
from query.engine.data_file_source import DataFileSource, LakeFolder
from query.engine.deadline import Deadline
from query.engine.duckdb_dialect import DuckDBDialect
from query.engine.engine import DataFileMissing, Row, Sql
from query.engine.hardening import PoolLimits, connect_hardened, restrict_thread
from schemas.errors import Unavailable
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import Column, ColumnType

log = logging.getLogger(__name__)

T = TypeVar("T")

__all__ = ["DUCKDB_TYPES", "DuckDBEngine", "PoolLimits", "connect_hardened"]

DUCKDB_TYPES: Mapping[ColumnType, str] = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.LONG: "BIGINT",
    ColumnType.INTEGER: "INTEGER",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.DECIMAL: "DECIMAL(18,4)",
    ColumnType.TIMESTAMP: "TIMESTAMPTZ",
}

MAX_CACHED_FILES = 20_000
"""Data files whose columns are cached."""

FOOTER_BATCH_FILES, MAX_FOOTER_BYTES = 500, 1_048_576
"""Files whose footers are read by one statement; bytes of the column names of one file."""


class DuckDBEngine:
    """One pool: a DuckDB instance, and threads that each run one query on its own cursor."""

    name, dialect, gives_columns = "duckdb", DuckDBDialect, True

    def __init__(
        self,
        name: str,
        source: DataFileSource | str,
        spill: Path,
        limits: PoolLimits,
        damaged: DamagedFiles | None = None,
    ) -> None:
        spill.mkdir(parents=True, exist_ok=True)
        self._source = LakeFolder(source) if isinstance(source, str) else source
        self._limits = limits
        self._damaged = damaged
        self._threads = ThreadPoolExecutor(
            limits.concurrency,
            thread_name_prefix=name,
            initializer=restrict_thread,
            initargs=(limits.nice, spill),
        )
        # Connect in a thread of the pool: DuckDB's own threads inherit its restrictions.
        self._generation = 0
        self._connect = partial(_connect_numbered, self._source.folder, spill, limits)
        self._reopening = asyncio.Lock()
        self._connection = self._threads.submit(self._connect, self._generation).result()
        self._busy = 0
        self._columns_by_file: dict[str, frozenset[str]] = {}

    async def relation(self, version: TableVersion, columns: Sequence[Column]) -> Sql:
        """The data files as one relation; a column that none of them has is NULL of its type."""
        data_files = version.data_files
        if not data_files:
            nulls = ",\n".join(f"{_null(column)} AS {column.name}" for column in columns)
            return Sql(f"(SELECT {nulls} WHERE FALSE)")
        if self._damaged:
            self._damaged.raise_if_damaged(data_files)
        paths = await self._fetch(data_files)
        stored_columns = await self._columns(paths)
        names = ",\n".join(
            column.name if column.name in stored_columns else f"{_null(column)} AS {column.name}"
            for column in columns
        )
        return Sql(
            f"(SELECT {names}\nFROM read_parquet($parts, union_by_name = true, "
            "hive_partitioning = false))",
            {"parts": paths},
        )

    async def _fetch(self, data_files: Sequence[DataFile]) -> list[str]:
        try:
            return await self._source.fetch(data_files)
        except FetchFailed as error:
            if self._damaged and (damaged := await self._damaged.note_failed(error)):
                raise damaged from None
            raise DataFileMissing from error  # replaced and vacuumed in between

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:
        return self._damaged.intact(data_files) if self._damaged else data_files

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        # All keys and all values are read at once, in a fifth of the time of looking each key up;
        # `$.*` gives the values of an object in the order of its keys.
        names = ", ".join(columns)
        return (
            f"SELECT {names}, property_key, property_value\n"  # noqa: S608 - every name is ours
            f"  FROM (SELECT {names},\n"
            "               unnest(json_keys(properties)) AS property_key,\n"
            "               unnest(json_extract_string(properties, '$.*')) AS property_value\n"
            f"          FROM {relation})\n"
            " WHERE property_value IS NOT NULL"
        )

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        return await self._rows(sql, seconds, self._limits.rows_bytes)

    async def table(self, sql: Sql, seconds: float) -> ColumnRows:
        self._source.keep(sql.data_files)
        async with self._with_damage_check(sql):
            cursor = self._connection.cursor()
            return await self._run(cursor, seconds, partial(cursor_work.fetch_table, cursor, sql))

    async def _rows(self, sql: Sql, seconds: float, max_bytes: int) -> list[Row]:
        self._source.keep(sql.data_files)
        async with self._with_damage_check(sql):
            cursor = self._connection.cursor()
            return await self._run(
                cursor, seconds, partial(cursor_work.fetch_all, cursor, sql, max_bytes)
            )

    async def batches(
        self, sql: Sql, seconds: float, max_rows: int
    ) -> AsyncGenerator[list[Row], None]:
        cursor, in_use = self._connection.cursor(), Lock()
        start = partial(cursor_work.execute, cursor, sql, in_use)
        fetch_next = partial(cursor_work.fetch, cursor, max_rows, in_use)
        try:
            async with self._with_damage_check(sql):
                self._source.keep(sql.data_files)
                await self._run(cursor, seconds, start)
                while batch := await self._run(cursor, seconds, fetch_next):
                    yield batch
                    self._source.keep(sql.data_files)
        finally:
            # The caller may be gone while a thread still fetches; a thread waits for it and closes.
            cursor.interrupt()
            asyncio.get_running_loop().run_in_executor(None, cursor_work.close, cursor, in_use)

    @asynccontextmanager
    async def _with_damage_check(self, sql: Sql) -> AsyncGenerator[None, None]:
        """Turn failures caused by damaged files into DataDamaged; restart an invalidated engine."""
        connection = self._connection
        try:
            yield
        except (DataFileMissing, duckdb.Error, UnicodeDecodeError) as error:
            # A damaged file may invalidate the instance: "database has been invalidated".
            if isinstance(error, duckdb.FatalException | duckdb.InternalException):
                await self._reopen(connection)
            if self._damaged and (damaged := await self._damaged.find_cause(sql.data_files)):
                raise damaged from error
            if isinstance(error, duckdb.FatalException):
                raise Unavailable(
                    "The query was interrupted by a restart of the query engine; retry", 1
                ) from error
            raise

    async def _reopen(self, broken: duckdb.DuckDBPyConnection) -> None:
        async with self._reopening:
            if self._connection is broken:
                self._generation += 1
                task = self._threads.submit(self._connect, self._generation)
                self._connection = await asyncio.wrap_future(task)
                log.error("query engine restarted", extra={"why": "a query invalidated it"})

    async def _run(
        self,
        cursor: duckdb.DuckDBPyConnection,
        seconds: float,
        work: Callable[[Deadline], T],
    ) -> T:
        """Run `work` in a thread of the pool; interrupted on timeout and on cancellation."""
        if self._busy >= self._limits.concurrency + self._limits.max_queued:
            raise Unavailable("Too many concurrent queries; retry in a moment", 1)
        self._busy += 1
        loop = asyncio.get_running_loop()
        # An interrupt before the first fetch would be lost, so the deadline repeats it.
        deadline = Deadline(cursor, loop.time() + seconds)
        deadline.start(loop)
        task = self._threads.submit(work, deadline)
        try:
            return await asyncio.wrap_future(task)
        finally:
            self._busy -= 1
            # Not done: the request was cancelled, so the thread must stop as well.
            deadline.stop() if task.done() else deadline.interrupt_until(loop, task.done)

    def close(self) -> None:
        """Close the instance once the running queries have ended."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._connection.close()
        del self._connection

    async def _columns(self, paths: list[str]) -> frozenset[str]:
        """All columns that at least one of the files has."""
        known = {
            path: self._columns_by_file[path] for path in paths if path in self._columns_by_file
        }
        new = [path for path in paths if path not in known]
        for start in range(0, len(new), FOOTER_BATCH_FILES):
            known |= await self._read_columns(new[start : start + FOOTER_BATCH_FILES])
        if new:
            if len(self._columns_by_file) > MAX_CACHED_FILES:
                self._columns_by_file.clear()
            self._columns_by_file |= known
        return frozenset().union(*known.values())

    async def _read_columns(self, paths: list[str]) -> Mapping[str, frozenset[str]]:
        """The columns of each file, from its footer; limited apart from the rows of queries."""
        footers = Sql("SELECT file_name, name FROM parquet_schema($paths)", {"paths": paths})
        columns_by_file: dict[str, set[str]] = {path: set() for path in paths}
        for file_name, name in await self._rows(footers, 10.0, MAX_FOOTER_BYTES * len(paths)):
            columns_by_file[file_name].add(name)
        return {path: frozenset(names) for path, names in columns_by_file.items()}


def _connect_numbered(
    lake: str, spill: Path, limits: PoolLimits, number: int
) -> duckdb.DuckDBPyConnection:
    """An instance with a spill folder of its own."""
    folder = spill / str(number)
    folder.mkdir(exist_ok=True)
    return connect_hardened(lake, folder, limits)


def _null(column: Column) -> str:
    return f"NULL::{DUCKDB_TYPES[column.type]}"
