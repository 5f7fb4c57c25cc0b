"""Prepared results: answers from parts, for the query types that declare a form.

A part is made in the background when a query first reads its data file, once the file's day has
ended: rows are stored by the day of their receipt, so only maintenance replaces its files then.
Rows of other data files are summed up with the query. What is joined, and the rows that come of it,
stay in memory for the next query of the same data files.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from msgspec import Struct

from query.engine.engine import ColumnEngine, Row
from query.prepared.byte_cache import ByteCache
from query.prepared.forms import PreparedForm
from query.prepared.joined_parts import JoinedParts, VisitorNumbers, number_visitors
from query.prepared.part import Part
from query.prepared.part_folder import PartFolder, PartKey
from query.prepared.part_source import all_rows, read_part
from query.prepared.part_tables import TABLES
from query.prepared.quarters import Quarters
from query.request.time_range import Granularity
from query.scope.row_scope import Scope
from schemas.errors import ResultTooLarge
from schemas.lake.delta_table import DataFile
from schemas.runtime.clock import Clock
from schemas.runtime.settings import Settings

T = TypeVar("T")

log = logging.getLogger(__name__)

FOLDER = "prepared"
MAX_PENDING = 5_000
"""Parts that wait to be made; a later query names the others again."""
PREPARE_SECONDS = 120.0
ALL_TABLES = tuple(table.name for table in TABLES)
THREADS = ThreadPoolExecutor(2, thread_name_prefix="prepared")
"""Threads that read and join parts: their number bounds the memory that it takes."""
ROW_BYTES = 200
"""Of a row of a result in memory, about."""


class _Sources(Struct, frozen=True):
    """The data files of a query: those with a part, and the others."""

    prepared: Sequence[PartKey]
    rest: Sequence[DataFile]


class PreparedResults:
    """The parts of this machine; for the event loop of one process."""

    def __init__(
        self, folder: PartFolder, memory: ByteCache, engine: ColumnEngine, clock: Clock
    ) -> None:
        self._folder = folder
        self._memory = memory
        self._engine = engine
        self._clock = clock
        self._pending: dict[PartKey, Scope] = {}
        self._refused: set[PartKey] = set()
        self._wanted = asyncio.Event()

    async def rows(
        self,
        form: PreparedForm,
        scope: Scope,
        granularity: Granularity,
        engine: ColumnEngine,
        seconds: float,
    ) -> Sequence[Row] | None:
        """The rows of a form; None when the rows of most data files must be read anyway."""
        quarters = form.quarters(scope.time_range, granularity)
        if quarters is None:
            return None
        sources = self._sources(scope)
        if not sources.prepared:
            return None
        try:
            return await self._rows(form, scope, quarters, sources, engine, seconds)
        except ResultTooLarge:
            return None  # the rest is too diverse to be summed up here

    def _sources(self, scope: Scope) -> _Sources:
        """What to read; parts that are missing will be made."""
        today = datetime.fromtimestamp(self._clock() / 1000, UTC).date().isoformat()
        files = scope.data_files
        keys = {f.path: PartKey(scope.subjects[0], f.path) for f in files if f.day < today}
        known = {path for path, key in keys.items() if self._folder.has(key)}
        for path in keys.keys() - known:
            self._want(keys[path], scope)
        rest = [file for file in files if file.path not in known]
        rows = sum(file.rows for file in files)
        if 2 * sum(file.rows for file in rest) > rows:
            return _Sources((), files)
        return _Sources([keys[file.path] for file in files if file.path in known], rest)

    def _want(self, key: PartKey, scope: Scope) -> None:
        if len(self._pending) < MAX_PENDING and key not in self._refused:
            self._pending.setdefault(key, scope)
            self._wanted.set()

    async def _rows(
        self,
        form: PreparedForm,
        scope: Scope,
        quarters: Quarters,
        sources: _Sources,
        engine: ColumnEngine,
        seconds: float,
    ) -> Sequence[Row] | None:
        rest_key = (scope.subjects[0], scope.time_range, tuple(f.path for f in sources.rest))
        of_rest = (rest_key, tuple(form.tables)) if sources.rest else ()
        of = (tuple(sources.prepared), of_rest)
        # the zone of the range tells apart buckets of the same numbers and other borders
        key = (form, scope.time_range, tuple(quarters.numbers), of)
        known: Sequence[Row] | None = self._memory.get(key)
        if known is not None:
            return known
        parts = await _in_thread(partial(self._read, sources.prepared, form.tables))
        if parts is None:
            return None  # one was removed or damaged meanwhile: it is made anew
        if sources.rest:
            parts.append(
                await self._rest(rest_key, scope, sources.rest, form.tables, engine, seconds)
            )
        rows = await _in_thread(partial(self._join, form, quarters, parts, of))
        self._memory.put(key, rows, ROW_BYTES * (1 + len(rows)))
        return rows

    def _read(self, keys: Sequence[PartKey], tables: Sequence[str]) -> list[Part] | None:
        parts = []
        for key in keys:
            part = self._memory.get((key, tuple(tables)))
            if part is None:
                part = self._folder.read(key, tables)
                if part is None:
                    return None
                self._memory.put((key, tuple(tables)), part, part.size)
            parts.append(part)
        return parts

    async def _rest(
        self,
        key: tuple[object, ...],
        scope: Scope,
        files: Sequence[DataFile],
        tables: Sequence[str],
        engine: ColumnEngine,
        seconds: float,
    ) -> Part:
        """What the rows without a part add up to, in the time range."""
        known: Part | None = self._memory.get((key, tuple(tables)))
        if known is not None:
            return known
        part = await read_part(engine, scope, files, tables, seconds)
        self._memory.put((key, tuple(tables)), part, part.size)
        return part

    def _join(
        self, form: PreparedForm, quarters: Quarters, parts: Sequence[Part], of: tuple[object, ...]
    ) -> Sequence[Row]:
        visitors: VisitorNumbers | None = self._memory.get(of)
        if visitors is None:
            visitors = number_visitors(parts)
            self._memory.put(of, visitors, visitors.size)
        return form.rows(JoinedParts(parts, visitors, quarters.first, quarters.end), quarters)

    async def run(self) -> None:
        """Make the parts that queries asked for, one after the other."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.make_pending()

    async def make_pending(self) -> None:
        """Make the parts that wait."""
        while self._pending:
            key = next(iter(self._pending))
            scope = self._pending[key]
            try:
                await self._make(key, scope)
            except Exception as error:  # a service that stopped to prepare would not recover
                self._refused.add(key)
                log.warning(
                    "result was not prepared",
                    extra={"file": key.data_file, "error": str(error)},
                )
            finally:
                self._pending.pop(key, None)

    async def _make(self, key: PartKey, scope: Scope) -> None:
        if self._folder.has(key):
            return  # another process made it
        [data_file] = [f for f in scope.pinned.version.data_files if f.path == key.data_file]
        part = await read_part(
            self._engine, all_rows(scope), [data_file], ALL_TABLES, PREPARE_SECONDS
        )
        await asyncio.to_thread(self._store, key, part, scope)

    def _store(self, key: PartKey, part: Part, scope: Scope) -> None:
        """Store a part; those of data files that are gone are of no use any more."""
        self._folder.write(key, part)
        if not scope.pinned.is_historic:
            files = scope.pinned.version.data_files
            self._folder.remove_others(key.website, (file.path for file in files))


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(THREADS, work)


def prepared_results(
    settings: Settings, engine: ColumnEngine, clock: Clock
) -> PreparedResults | None:
    """The prepared results of the settings; None when these switch them off."""
    if not settings.prepared_mb:
        return None
    folder = PartFolder(settings.data / FOLDER, settings.prepared_mb * 2**20)
    memory = ByteCache(settings.prepared_memory_mb * 2**20)
    return PreparedResults(folder, memory, engine, clock)
