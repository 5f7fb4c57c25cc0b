"""Lanes: how many questions of one tenant run at once, so that none fills a pool alone.

More wait, within their deadline; beyond a number that may wait they are refused at once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from query.engine.deadline import overdue
from query.engine.engine import Engine, Row, Sql
from schemas.errors import Unavailable
from schemas.lake.delta_table import Part
from schemas.tables import Column

MOST_WAITING = 32
"""Questions of one tenant that may wait."""


class Lanes:
    """The lanes of all tenants into one pool."""

    def __init__(self, engine: Engine, at_once: int) -> None:
        self.pool = engine
        self._at_once = at_once
        self._gates: dict[str, Gate] = {}

    def of(self, tenant: str) -> "Lane":
        """The pool as that tenant may use it."""
        return Lane(self, self.pool, tenant)

    @asynccontextmanager
    async def turn(self, tenant: str, seconds: float) -> AsyncIterator[float]:
        """One question's turn, and the seconds that are left to it."""
        gate = self._gates.setdefault(tenant, Gate(asyncio.Semaphore(self._at_once)))
        if gate.inside >= self._at_once + MOST_WAITING:
            raise Unavailable(
                f"{gate.inside} questions of this organization are being answered; "
                "ask again when some have ended",
                1,
            )
        gate.inside += 1
        try:
            loop = asyncio.get_running_loop()
            ends = loop.time() + seconds
            await _free(gate, ends)
            try:
                yield max(0.0, ends - loop.time())
            finally:
                gate.free.release()
        finally:
            gate.inside -= 1
            if not gate.inside:
                self._gates.pop(tenant, None)  # who asks nothing is not remembered


class Gate(Struct):
    """Who of one tenant is inside, running or waiting."""

    free: asyncio.Semaphore
    inside: int = 0


class Lane:
    """An engine that lets a few questions of one tenant through at once."""

    def __init__(self, lanes: Lanes, engine: Engine, tenant: str) -> None:
        self._lanes = lanes
        self._engine = engine
        self._tenant = tenant
        self.dialect = engine.dialect

    async def relation(self, parts: Sequence[Part], columns: Sequence[Column]) -> Sql:
        return await self._engine.relation(parts, columns)

    def unix_ms(self, column: str) -> str:
        return self._engine.unix_ms(column)

    def entries(self, relation: str, columns: Sequence[str]) -> str:
        return self._engine.entries(relation, columns)

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        async with self._lanes.turn(self._tenant, seconds) as left:
            return await self._engine.rows(sql, left)

    def batches(self, sql: Sql, seconds: float, most: int) -> AsyncGenerator[list[Row], None]:
        # Whoever takes rows as slowly as a client reads them has a bound of its own (export).
        return self._engine.batches(sql, seconds, most)


async def _free(gate: Gate, ends: float) -> None:
    try:
        async with asyncio.timeout_at(ends):
            await gate.free.acquire()
    except TimeoutError:
        raise overdue() from None
