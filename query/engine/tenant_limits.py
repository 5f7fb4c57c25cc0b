"""Lanes: how many questions of one tenant run at once, so that none fills a pool alone.

More wait, within their deadline; beyond a number that may wait they are refused at once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from query.engine.deadline import timeout_error
from query.engine.engine import Engine, Row, Sql
from schemas.errors import Unavailable
from schemas.lake.delta_table import DataFile
from schemas.tables import Column

MAX_QUEUED = 32
"""Questions of one tenant that may wait."""


class TenantLimiter:
    """The lanes of all tenants into one pool."""

    def __init__(self, engine: Engine, at_once: int) -> None:
        self.pool = engine
        self._at_once = at_once
        self._queues: dict[str, TenantQueue] = {}

    def for_tenant(self, tenant: str) -> "TenantEngine":
        """The pool as that tenant may use it."""
        return TenantEngine(self, self.pool, tenant)

    @asynccontextmanager
    async def slot(self, tenant: str, seconds: float) -> AsyncIterator[float]:
        """One question's turn, and the seconds that are left to it."""
        gate = self._queues.setdefault(tenant, TenantQueue(asyncio.Semaphore(self._at_once)))
        if gate.count >= self._at_once + MAX_QUEUED:
            raise Unavailable(
                f"{gate.count} questions of this organization are being answered; "
                "ask again when some have ended",
                1,
            )
        gate.count += 1
        try:
            loop = asyncio.get_running_loop()
            ends = loop.time() + seconds
            await _wait_for_slot(gate, ends)
            try:
                yield max(0.0, ends - loop.time())
            finally:
                gate.slots.release()
        finally:
            gate.count -= 1
            if not gate.count:
                self._queues.pop(tenant, None)  # who asks nothing is not remembered


class TenantQueue(Struct):
    """Who of one tenant is inside, running or waiting."""

    slots: asyncio.Semaphore
    count: int = 0


class TenantEngine:
    """An engine that lets a few questions of one tenant through at once."""

    def __init__(self, lanes: TenantLimiter, engine: Engine, tenant: str) -> None:
        self._limiter = lanes
        self._engine = engine
        self._tenant = tenant
        self.dialect = engine.dialect

    async def relation(self, parts: Sequence[DataFile], columns: Sequence[Column]) -> Sql:
        return await self._engine.relation(parts, columns)

    def unix_ms(self, column: str) -> str:
        return self._engine.unix_ms(column)

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        return self._engine.property_entries(relation, columns)

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        async with self._limiter.slot(self._tenant, seconds) as left:
            return await self._engine.rows(sql, left)

    def batches(self, sql: Sql, seconds: float, most: int) -> AsyncGenerator[list[Row], None]:
        # Whoever takes rows as slowly as a client reads them has a bound of its own (export).
        return self._engine.batches(sql, seconds, most)


async def _wait_for_slot(gate: TenantQueue, ends: float) -> None:
    try:
        async with asyncio.timeout_at(ends):
            await gate.slots.acquire()
    except TimeoutError:
        raise timeout_error() from None
