"""Concurrency limits per tenant: queries, exports, and work in the event loop.

No tenant fills a pool alone. Further queries wait within their timeout; beyond MAX_QUEUED they are
rejected at once, like an export beyond MAX_EXPORTS.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)

from msgspec import UNSET, Struct, UnsetType

from query.engine.column_rows import ColumnRows
from query.engine.deadline import timeout_error
from query.engine.engine import ColumnEngine, Engine, Row, Sql
from query.engine.engine_choice import LargeQueries
from query.engine.outer_engine import OuterEngine
from schemas.errors import Unavailable
from schemas.telemetry.spans import CURRENT_SPAN, Attributes, Span, child_span

MAX_QUEUED = 32
"""Queries of one tenant that may wait."""

MAX_ACTIVE = 16
"""Queries of one tenant that are built, run or encoded at once in one process."""

MAX_EXPORTS = 2
"""Exports of one tenant that may run."""


class TenantLimiter:
    """Limits the concurrent queries of each tenant in one pool."""

    def __init__(
        self, engine: Engine, concurrency: int, large_queries: LargeQueries | None = None
    ) -> None:
        self.pool = engine
        self._large_queries = large_queries
        self._concurrency = concurrency
        self._queues: dict[str, TenantQueue] = {}

    def for_tenant(self, tenant: str, read_bytes: int | None = None) -> "TenantEngine":
        """The engine for a query that reads so many bytes, limited for that tenant.

        Small queries, and those of unknown size, stay in the pool.
        """
        large = self._large_queries
        if large is None:
            return TenantEngine(self, self.pool, tenant, read_bytes=read_bytes)
        if read_bytes is None or read_bytes < large.min_bytes:
            return TenantEngine(self, self.pool, tenant, self.pool.name, read_bytes)
        engine = large.engine.for_tenant(tenant)
        return TenantEngine(self, engine, tenant, engine.name, read_bytes)

    @asynccontextmanager
    async def slot(self, tenant: str, seconds: float) -> AsyncIterator[float]:
        """Wait for a slot of the tenant; yields the seconds that are left."""
        queue = self._queues.setdefault(tenant, TenantQueue(asyncio.Semaphore(self._concurrency)))
        if queue.count >= self._concurrency + MAX_QUEUED:
            raise Unavailable(
                f"{queue.count} concurrent queries of this organization are running or queued; "
                "retry when some have finished",
                1,
            )
        queue.count += 1
        try:
            loop = asyncio.get_running_loop()
            deadline = loop.time() + seconds
            await _wait_for_slot(queue, deadline)
            try:
                yield max(0.0, deadline - loop.time())
            finally:
                queue.slots.release()
        finally:
            queue.count -= 1
            if not queue.count:
                self._queues.pop(tenant, None)  # idle tenants take no memory


class TenantQueue(Struct):
    """A tenant's running and queued queries."""

    slots: asyncio.Semaphore
    count: int = 0


class TenantEngine(OuterEngine):
    """An engine that runs a few queries of one tenant at once.

    Batches are read as slowly as the client reads; ExportLimiter limits them instead.
    """

    def __init__(
        self,
        limiter: TenantLimiter,
        engine: Engine,
        tenant: str,
        reported_name: str | UnsetType = UNSET,
        read_bytes: int | None = None,
    ) -> None:
        super().__init__(engine)
        self.reported_name = reported_name
        """The name of the engine in responses, where there are several."""
        self.read_bytes = read_bytes
        """Bytes of the data files that the query may read, where they are known."""
        self._limiter = limiter
        self._tenant = tenant

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        with self._span(sql) as span:
            async with self._limiter.slot(self._tenant, seconds) as seconds_left:
                rows = await self._engine.rows(sql, seconds_left)
            if span is not None:
                span.note({"tidemark.rows": len(rows)})
            return rows

    @property
    def gives_columns(self) -> bool:
        return isinstance(self._engine, ColumnEngine)

    async def table(self, sql: Sql, seconds: float) -> ColumnRows:
        if not isinstance(self._engine, ColumnEngine):
            raise TypeError(f"the engine {self.name} gives rows only")
        with self._span(sql):
            async with self._limiter.slot(self._tenant, seconds) as seconds_left:
                return await self._engine.table(sql, seconds_left)

    def _span(self, sql: Sql) -> AbstractContextManager[Span | None]:
        """The span of one statement, its wait for a slot included."""
        if CURRENT_SPAN.get() is None:
            return nullcontext()
        attributes: Attributes = {
            "db.system.name": self.name,
            "tidemark.data_files": len(sql.data_files),
        }
        known = {} if self.read_bytes is None else {"tidemark.read_bytes.most": self.read_bytes}
        return child_span("engine", {**attributes, **known})


async def _wait_for_slot(queue: TenantQueue, deadline: float) -> None:
    try:
        async with asyncio.timeout_at(deadline):
            await queue.slots.acquire()
    except TimeoutError:
        raise timeout_error() from None


class TenantSlots:
    """Limit of queries of each tenant that the event loop works on at once.

    Parsing and building statements takes milliseconds in the event loop. Other tenants, and health
    checks, have their turn between those of one tenant, however many it sends.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._queues: dict[str, TenantQueue] = {}

    @asynccontextmanager
    async def slot(self, tenant: str, deadline: float) -> AsyncIterator[None]:
        """Wait for a slot of the tenant, and for what else the event loop has to do.

        QueryTimeout at the deadline, in the time of the event loop.
        """
        queue = self._queues.setdefault(tenant, TenantQueue(asyncio.Semaphore(self._slots)))
        queue.count += 1
        try:
            await _wait_for_slot(queue, deadline)
            try:
                await asyncio.sleep(0)
                yield
            finally:
                queue.slots.release()
        finally:
            queue.count -= 1
            if not queue.count:
                self._queues.pop(tenant, None)  # idle tenants take no memory


class ExportLimiter:
    """Limits the concurrent exports of each tenant."""

    def __init__(self) -> None:
        self._running: dict[str, int] = {}

    @contextmanager
    def slot(self, tenant: str) -> Iterator[None]:
        """The slot of one export; Unavailable when the tenant has too many running."""
        count = self._running.get(tenant, 0)
        if count >= MAX_EXPORTS:
            raise Unavailable(
                f"{count} exports of this organization are running; retry when one has finished"
            )
        self._running[tenant] = count + 1
        try:
            yield
        finally:
            self._leave(tenant)

    def _leave(self, tenant: str) -> None:
        remaining = self._running[tenant] - 1
        if remaining:
            self._running[tenant] = remaining
        else:
            del self._running[tenant]
