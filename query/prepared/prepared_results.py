"""Answers query types from rollups: pre-aggregated rows, one for each website and data file.

A rollup is built in the background after a query first reads its data file, once the day of the
file has ended: rows are stored by the day of their receipt, so only maintenance replaces its files
then. Rows of other data files are aggregated with the query. Joined columns and results stay in
memory for the next query of the same data files; indexes are stored for the next process. A query
that found no rollups is rerun in the background to warm the caches.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from msgspec import structs

from query.engine.engine import ColumnEngine, Engine, Row
from query.engine.tenant_limits import TenantSlots
from query.prepared import FOLDER
from query.prepared.array_rows import ArrayRows
from query.prepared.build import all_rows, build_rollup
from query.prepared.forms import RollupPlan, empty_result, index_between_quarters
from query.prepared.index_store import IndexCache, IndexStore, is_small
from query.prepared.known_visitors import known_visitors
from query.prepared.listed_keys import ListedKeys
from query.prepared.not_prepared import (
    AMBIGUOUS_VISIT_ORDER,
    COSTLY_FILTERS,
    NO_ROLLUPS,
    NO_VISIT_ROLLUPS,
    ROLLUP_GONE,
    TOO_DIVERSE,
    NotPrepared,
)
from query.prepared.partial_quarters import quarters_read
from query.prepared.quarter_hours import NewVisitorPlan, QuarterHours
from query.prepared.result_cache import ByteCache, CachingEngine, digest
from query.prepared.rollup import Rollup
from query.prepared.rollup_file import UNREADABLE, is_damage
from query.prepared.rollup_reader import (
    ReadPlan,
    RollupGone,
    RollupReader,
    Work,
    in_thread,
    read_plan,
)
from query.prepared.rollup_union import RollupUnion
from query.prepared.rollup_view import NOBODY
from query.prepared.store import KIND_OF, KINDS, TOTALS, RollupKey, RollupStore, kinds_beside
from query.prepared.text_filters import CostlyFilters
from query.prepared.warm_up import WarmUpQuery, WarmUpQueue
from query.request.time_range import Granularity
from query.scope.row_scope import Scope
from query.scope.visits import around
from schemas.errors import ResultTooLarge
from schemas.runtime.clock import Clock
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

MAX_PENDING = 5_000
"""Rollups that wait to be made; a later query names the others again."""
PREPARE_SECONDS = 120.0
REFUSED_MS = 600_000
"""For how long a rollup is not made again that could not be made."""
PAUSE_SECONDS = 1.0
"""Before rollups are made: the queries that asked for them read the same rows, and come first."""
TURNS = 2
"""Queries of one tenant whose rollups are joined at once; others' come between."""
ROW_BYTES = 200
"""Of a row of a result in memory, about."""


def ignore(is_made: bool) -> None:
    """No-op progress callback."""


class PreparedResults:
    """The rollups of this machine, for the event loop of one process."""

    def __init__(
        self, folder: RollupStore, memory: ByteCache, engine: ColumnEngine, clock: Clock
    ) -> None:
        self._folder = folder
        self._memory = memory
        self._reader = RollupReader(folder, memory)
        self._index_files = IndexStore(folder)
        self._indexes = IndexCache(memory, self._index_files)
        self._engine = engine
        self._clock = clock
        self._pending: dict[RollupKey, Scope] = {}
        self._refused_until: dict[RollupKey, int] = {}
        self._waiting = WarmUpQueue()
        self._turns = TenantSlots(TURNS)
        self._wanted = asyncio.Event()

    async def rows(
        self,
        form: RollupPlan,
        scope: Scope,
        granularity: Granularity,
        engine: ColumnEngine,
        seconds: float,
        *,
        work: Work = Work.QUERIES,
        tenant: str = "",
    ) -> Sequence[Row]:
        """The rows of a plan; NotPrepared when stored rows must be read."""
        quarters, whole, edges = quarters_read(form, scope.time_range, granularity)
        if not scope.data_files:
            return empty_result(form)
        around_it = structs.replace(scope, time_range=around(scope.time_range))
        scope = structs.replace(scope, time_range=whole)
        kind = KIND_OF[form.tables[0]]
        made = self._made_parts(kind, scope, *([around_it] if kind == TOTALS else ()))
        if self._pending and not self._pending.keys().isdisjoint(_keys(scope, kind)):
            self._waiting.add(WarmUpQuery(form, scope, granularity))
        rows_of = read_plan(scope, form.tables, made, edges)
        if rows_of is None:
            raise NotPrepared(NO_ROLLUPS)
        around_of = read_plan(around_it, form.visit_tables, made) if kind == TOTALS else None
        if form.visit_tables and around_of is None:
            raise NotPrepared(NO_VISIT_ROLLUPS)
        rollups = self._known_parts(form, rows_of, around_of)
        visits_of = around_of if form.visit_tables else None
        try:
            return await self._rows(
                form, quarters, rows_of, visits_of, rollups, engine, seconds, work, tenant
            )
        except ResultTooLarge:
            raise NotPrepared(TOO_DIVERSE) from None
        except CostlyFilters:
            raise NotPrepared(COSTLY_FILTERS) from None
        except RollupGone:
            self._indexes.forget_sets(scope.subjects[0])
            raise NotPrepared(ROLLUP_GONE) from None

    def _known_parts(self, form: RollupPlan, *those_of: ReadPlan | None) -> frozenset[RollupKey]:
        """The rollups of readings, and more that were used with them.

        None is of a data file whose rows are read: a rollup may have been made meanwhile, or by a
        process in which its day ended earlier.
        """
        readings = [each for each in those_of if each is not None]
        wanted = frozenset(key for each in readings for key in each.prepared)
        read = {file.path for each in readings for file in each.rest}
        files = readings[0].scope.pinned.version.data_files
        paths = {file.path for file in files} - read
        is_kept, index = not is_small(wanted, files), index_between_quarters(form)
        return self._indexes.rollup_set(wanted, paths, is_kept=is_kept, index=index)

    def _made_parts(self, kind: str, *scopes: Scope) -> Mapping[str, RollupKey]:
        """The rollups that are there now, by data file; those of ended days that miss are made."""
        today = datetime.fromtimestamp(self._clock() / 1000, UTC).date().isoformat()
        ended = {f.path: scope for scope in scopes for f in scope.data_files if f.day < today}
        made = {}
        names = self._folder.names(scopes[0].subjects[0])
        for path, scope in ended.items():
            key = RollupKey(scope.subjects[0], path, kind)
            if key.name in names:
                made[path] = key
            else:
                self._want(key, scope)
        return made

    def _want(self, key: RollupKey, scope: Scope) -> None:
        is_refused = self._clock() < self._refused_until.get(key, 0)
        if len(self._pending) < MAX_PENDING and not is_refused:
            self._pending.setdefault(key, scope)
            self._wanted.set()

    async def _rows(
        self,
        form: RollupPlan,
        quarters: QuarterHours,
        rows_of: ReadPlan,
        visits_of: ReadPlan | None,
        rollups: frozenset[RollupKey],
        engine: ColumnEngine,
        seconds: float,
        work: Work,
        tenant: str,
    ) -> Sequence[Row]:
        # the zone of the range tells apart buckets of the same numbers and other borders
        time_range = rows_of.scope.time_range
        before = known_visitors(rows_of.scope) if isinstance(form, NewVisitorPlan) else None
        keys = (rows_of.key, visits_of and visits_of.key, before and before.key)
        key = (form, digest(time_range, [*quarters.numbers], keys))
        known: Sequence[Row] | None = self._memory.get(key)
        if known is not None:
            return known
        deadline = asyncio.get_running_loop().time() + seconds
        on_the_fly = await self._reader.on_the_fly(rows_of, engine, seconds)
        visits = None
        if visits_of is not None:
            visits = visits_of, await self._reader.on_the_fly(visits_of, engine, seconds)
        earlier = await before.hashes(engine, self._memory, seconds) if before else NOBODY
        of = (rows_of, on_the_fly)
        join = RollupUnion(self._memory, self._reader, self._indexes, rollups, of, visits, earlier)
        async with self._turns.slot(tenant, deadline):
            try:
                rows = await in_thread(partial(join.rows, form, quarters), work)
            except UNREADABLE as error:
                log.error("prepared rollups cannot be joined", exc_info=error)
                if is_damage(error):
                    self._remove_rollups(rows_of, visits_of)
                raise RollupGone from None
        if rows is None:
            raise NotPrepared(AMBIGUOUS_VISIT_ORDER)
        self._memory.put(key, rows, len(repr(form)) + _size(rows))
        return rows

    def _remove_rollups(self, *readings: ReadPlan | None) -> None:
        """Remove rollups, and what came of them, that fit their checksums and cannot be joined."""
        keys = {key for reading in readings if reading is not None for key in reading.prepared}
        for website, kind in {(key.website, key.kind) for key in keys}:
            self.remove(website, kind)
        self._memory.clear()

    def remembering(self, engine: Engine) -> Engine:
        """The engine; rows that it gave stay in the memory of prepared results."""
        return CachingEngine(engine, self._memory)

    async def run(self) -> None:
        """Make the rollups that queries asked for, one after the other, and after these queries."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(PAUSE_SECONDS)
            self._wanted.clear()
            await self.make_pending()
            await self.run_waiting()

    async def run_waiting(self) -> None:
        """Run the queries whose rollups were missing; their rows and indexes are kept."""
        for query in self._waiting.take():
            form, scope, granularity = query.form, query.scope, query.granularity
            try:
                await self.rows(
                    form, scope, granularity, self._engine, PREPARE_SECONDS, work=Work.CUSTOM
                )
            except NotPrepared:
                continue
            except Exception as error:  # its data files may be gone, as it was asked some time ago
                log.info("query was not run again", extra={"error": str(error)})

    def remove(self, website: str, kind: str) -> None:
        """Remove the rollups of a kind of a website; the next query has them built again."""
        self._folder.remove_others(website, (), (kind,))
        self._index_files.remove_others(website, (), (kind,))

    def remove_replaced(self, website: str, kind: str, data_files: Collection[str]) -> None:
        """Remove the rollups of a kind of a website that are of none of these data files."""
        self._folder.remove_others(website, data_files, (kind,))
        self._index_files.remove_others(website, data_files, (kind,))

    def forget(self) -> None:
        """Forget all rows and indexes in memory, and the queries that would be run again."""
        self._memory.clear()
        self._waiting.take()

    def want_all(self, scope: Scope, kind: str) -> int:
        """Have the rollups of all data files of a scope made that can be; how many of them wait."""
        self._made_parts(kind, scope)
        return len(self._pending)

    @property
    def size(self) -> int:
        """Bytes of all rollups."""
        return self._folder.size

    async def make_pending(self, report: Callable[[bool], None] = ignore) -> None:
        """Make the rollups that wait; `report` takes whether each is there."""
        while self._pending:
            key = next(iter(self._pending))
            scope = self._pending[key]
            try:
                await self._make(key, scope)
                report(True)
            except Exception as error:  # a service that stopped to prepare would not recover
                self._refused_until[key] = self._clock() + REFUSED_MS
                report(False)
                details = {"file": key.data_file, "error": str(error)}
                log.warning("result was not prepared", extra=details)
            finally:
                self._pending.pop(key, None)

    async def _make(self, key: RollupKey, scope: Scope) -> None:
        if self._folder.has(key):
            return  # another process made it
        [data_file] = [f for f in scope.pinned.version.data_files if f.path == key.data_file]
        tables = [table.name for table in KINDS[key.kind]]
        rollup = await build_rollup(
            self._engine, all_rows(scope), [data_file], tables, PREPARE_SECONDS
        )
        await asyncio.to_thread(self._store, key, rollup, scope)

    def _store(self, key: RollupKey, rollup: Rollup, scope: Scope) -> None:
        """Store a rollup; those of data files that are gone are of no use any more."""
        self._folder.write(key, rollup)
        if not scope.pinned.is_historic:
            files = [file.path for file in scope.pinned.version.data_files]
            kinds = kinds_beside(key.kind)
            self._folder.remove_others(key.website, files, kinds)
            self._index_files.remove_others(key.website, files, kinds)


def _keys(scope: Scope, kind: str) -> Iterator[RollupKey]:
    """The rollups of all data files of a scope."""
    return (RollupKey(scope.subjects[0], file.path, kind) for file in scope.data_files)


def prepared_results(
    settings: Settings, engine: ColumnEngine, clock: Clock
) -> PreparedResults | None:
    """The prepared results of the settings; None when these switch them off."""
    if not settings.prepared_mb:
        return None
    folder = RollupStore(settings.data / FOLDER, settings.prepared_mb * 2**20)
    memory = ByteCache(settings.prepared_memory_mb * 2**20)
    return PreparedResults(folder, memory, engine, clock)


def _size(rows: Sequence[Row]) -> int:
    """Bytes in memory, about."""
    if isinstance(rows, ArrayRows | ListedKeys):
        return rows.size
    return ROW_BYTES * (1 + len(rows))
