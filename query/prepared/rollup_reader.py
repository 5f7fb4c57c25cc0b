"""Reads the rollups of a query: stored ones, and rows without a rollup aggregated on the fly."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial
from typing import IO, TypeVar

from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.engine.engine import ColumnEngine
from query.prepared.build import all_rows, build_rollup
from query.prepared.result_cache import ByteCache, digest
from query.prepared.rollup import Columns, Rollup, shifted
from query.prepared.rollup_file import (
    TEXT_BYTES,
    Damaged,
    RollupContents,
    TableFrame,
    read_column,
    read_contents,
    read_frame,
    read_hashes,
)
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.store import RollupKey, RollupStore
from query.request.time_range import TimeRange
from query.scope.row_scope import Scope
from schemas.lake.delta_table import DataFile

T = TypeVar("T")

LARGE_ROWS = 10_000
"""Rows from which a data file is summed up by itself."""


class Work(StrEnum):
    """Kinds of queries: each has threads of its own, so that none waits for another kind.

    Their number bounds the memory that it takes.
    """

    QUERIES = "queries"
    CUSTOM = "custom"
    """Custom queries, which may take longer."""
    SHARES = "shares"
    """Shared dashboards, behind which no API key waits."""


THREADS = {
    Work.QUERIES: ThreadPoolExecutor(2, thread_name_prefix="prepared"),
    Work.CUSTOM: ThreadPoolExecutor(1, thread_name_prefix="prepared-custom"),
    Work.SHARES: ThreadPoolExecutor(1, thread_name_prefix="prepared-shares"),
}


class RollupGone(Exception):
    """A rollup was removed or is damaged."""


class ReadPlan(Struct, frozen=True):
    """Which rollups a query reads, and which stored rows it aggregates on the fly."""

    scope: Scope
    """Of whole quarters."""
    tables: Sequence[str]
    prepared: Sequence[RollupKey]
    rest: Sequence[DataFile]
    rows: Sequence["UnpreparedRows"]
    """Of data files without a rollup, then of quarter-hours that the time range cuts."""

    @property
    def key(self) -> bytes:
        """Identifies what it reads, and of which quarter-hours, in caches of results."""
        return digest(self.scope.time_range, self.prepared, [rows.key for rows in self.rows])


class UnpreparedRows(Struct, frozen=True):
    """Stored rows without a rollup, which are aggregated with the query."""

    scope: Scope
    tables: Sequence[str]
    files: Sequence[DataFile]
    later: int = 0
    """By how many quarter-hours their rows are shifted."""

    @property
    def key(self) -> bytes:
        """Identifies what is read in caches of results."""
        paths = [file.path for file in self.files]
        time_range, subject = self.scope.time_range, self.scope.subjects[0]
        return digest(subject, time_range, paths, [*self.tables], self.later)


def read_plan(
    scope: Scope,
    tables: Sequence[str],
    made: Mapping[str, RollupKey],
    edges: Sequence[TimeRange] = (),
) -> ReadPlan | None:
    """What to read; None when most rows have no rollup.

    `edges` are what the time range of the query has of the quarters that it cuts.
    """
    files = scope.data_files
    prepared = [made[file.path] for file in files if file.path in made]
    rest = [file for file in files if file.path not in made]
    if not prepared or 2 * sum(file.rows for file in rest) > sum(file.rows for file in files):
        return None
    rows = [UnpreparedRows(all_rows(scope), tables, files) for files in _summed_together(rest)]
    for edge in edges:
        of_edge = structs.replace(scope, time_range=edge)
        later = 1 if edge.start_ms < scope.time_range.start_ms else -1
        rows.append(UnpreparedRows(of_edge, tables, of_edge.data_files, later))
    return ReadPlan(scope, tables, prepared, rest, [each for each in rows if each.files])


def _summed_together(files: Sequence[DataFile]) -> Iterator[Sequence[DataFile]]:
    """Each larger file alone, as it stays longer than the small ones, which are soon merged."""
    yield [file for file in files if file.rows < LARGE_ROWS]
    yield from ([file] for file in files if file.rows >= LARGE_ROWS)


class RollupReader:
    """Reads rollups through the cache in memory."""

    def __init__(self, folder: RollupStore, memory: ByteCache) -> None:
        self._folder = folder
        self._memory = memory

    async def on_the_fly(
        self, reading: ReadPlan, engine: ColumnEngine, seconds: float
    ) -> Sequence[Rollup]:
        """The rollups of the rows that it aggregates, in their order."""
        rollups = [
            await self._rest(rows, engine, seconds) for rows in reading.rows if not rows.later
        ]
        edges = [self._rest(rows, engine, seconds) for rows in reading.rows if rows.later]
        return [*rollups, *await asyncio.gather(*edges)]  # the last ones, of few rows each

    async def _rest(self, rows: UnpreparedRows, engine: ColumnEngine, seconds: float) -> Rollup:
        known: Rollup | None = self._memory.get(rows.key)
        if known is not None:
            return known
        read = await build_rollup(engine, rows.scope, rows.files, rows.tables, seconds)
        rollup = shifted(read, rows.later, QUARTER_MS) if rows.later else read
        self._memory.put(rows.key, rollup, rollup.size)
        return rollup

    def hashes(self, column: str, key: RollupKey) -> Numbers:
        """The hashes of a column of a rollup."""
        numbers: Numbers | None = self._memory.get((key, column))
        if numbers is None:
            numbers = self._read(key, partial(read_hashes, column=column))
            self._memory.put((key, column), numbers, numbers.nbytes)
        return numbers

    def frame(self, key: RollupKey, table: str) -> TableFrame:
        """The quarter-hours and the names of the columns of a table of a rollup."""
        name = (key, "frame", table)
        frame: TableFrame | None = self._memory.get(name)
        if frame is None:
            frame = self._read(key, partial(read_frame, table=table))
            self._memory.put(name, frame, frame.size)
        return frame

    def numbers(self, key: RollupKey, table: str, column: str, rows: int | None = None) -> Numbers:
        """A column of a table of a rollup, which has so many rows."""
        numbers: Numbers | None = self._memory.get((key, table, column))
        if numbers is None:
            numbers, _ = self._column(key, table, column)
        if rows is not None and len(numbers) != rows:
            raise Damaged("a column of another length")
        return numbers

    def texts(self, key: RollupKey, table: str, column: str) -> Sequence[str]:
        """The texts of a column of a table of a rollup, in ascending order."""
        texts: Sequence[str] | None = self._memory.get((key, "texts", table, column))
        return self._column(key, table, column)[1] if texts is None else texts

    def _column(self, key: RollupKey, table: str, column: str) -> tuple[Numbers, Sequence[str]]:
        """A column and its texts; both are cached, as queries share them."""
        numbers, texts = self._read(key, partial(read_column, table=table, column=column))
        self._memory.put((key, table, column), numbers, numbers.nbytes)
        if column in self.frame(key, table).texts:
            size = sum(map(len, texts)) + TEXT_BYTES * len(texts)
            self._memory.put((key, "texts", table, column), texts, size)
        return numbers, texts

    def _read(self, key: RollupKey, read: Callable[[IO[bytes], RollupContents], T]) -> T:
        name = (key, "contents")
        contents: RollupContents | None = self._memory.get(name)

        def read_file(file: IO[bytes], path: str) -> T:
            footer = read_contents(file, path) if contents is None else contents
            if contents is None:
                self._memory.put(name, footer, footer.size)
            return read(file, footer)

        if (found := self._folder.read(key, read_file)) is None:
            self._memory.put(name, None, 0)  # another file may take its place
            raise RollupGone
        return found


class _LazyColumns(Mapping[str, T]):
    """The columns of a table, each of which is read when it is needed."""

    def __init__(self, names: frozenset[str], read: Callable[[str], T]) -> None:
        self._names = names
        self._read = read
        self._columns: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)


class StoredRollup:
    """A rollup of the store, of which each column is read when it is needed."""

    def __init__(
        self,
        reader: RollupReader,
        key: RollupKey,
        ts_range: tuple[int, int] | None,
    ) -> None:
        """Of rows between these Unix milliseconds, where known."""
        self._reader = reader
        self._key = key
        self._ts_range = ts_range
        self._tables: dict[str, Columns] = {}

    def table(self, name: str) -> Columns:
        """The columns of a table; it and they raise RollupGone when the rollup is not there."""
        if name not in self._tables:
            frame = self._reader.frame(self._key, name)
            rows = int(frame.borders[-1])
            read = partial(self._reader.numbers, self._key, name, rows=rows)
            numbers = _LazyColumns(frame.columns, read)
            texts = _LazyColumns(frame.texts, partial(self._reader.texts, self._key, name))
            self._tables[name] = Columns(frame.quarters, frame.borders, numbers, texts)
        return self._tables[name]

    def may_have(self, first: int, end: int) -> bool:
        """Whether it may have rows of the quarters from `first` to before `end`."""
        if self._ts_range is None:
            return True
        return self._ts_range[0] < end * QUARTER_MS and first * QUARTER_MS <= self._ts_range[1]


async def in_thread(task: Callable[[], T], work: Work) -> T:
    """The result of a task that would hold up the event loop."""
    return await asyncio.get_running_loop().run_in_executor(THREADS[work], task)
