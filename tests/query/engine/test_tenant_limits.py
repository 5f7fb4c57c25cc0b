"""Lanes: a few questions of one tenant at once, and the pools' threads give way."""

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from query.engine.duckdb_engine import DuckDBEngine, PoolLimits
from query.engine.engine import Row, Sql
from query.engine.tenant_limits import MAX_QUEUED, TenantLimiter, TenantSlots
from schemas.errors import QueryTimeout, Unavailable


class Slow:
    """An engine with queries that end when the test says so; it records their tenants."""

    name = dialect = "slow"

    def __init__(self) -> None:
        self.running: list[str] = []
        self.most = 0
        self.go_on = asyncio.Event()

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        assert seconds > 0
        self.running.append(sql.text)
        self.most = max(self.most, len(self.running))
        await self.go_on.wait()
        self.running.remove(sql.text)
        return [(sql.text,)]


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def ask(lanes: TenantLimiter, tenant: str, count: int) -> Sequence[asyncio.Task[list[Row]]]:
    lane = lanes.for_tenant(tenant)
    return [asyncio.create_task(lane.rows(Sql(tenant), 5.0)) for _ in range(count)]


def test_a_tenant_fills_its_own_lanes_and_no_others() -> None:
    async def scene() -> None:
        engine = Slow()
        lanes = TenantLimiter(engine, 2)  # type: ignore[arg-type]  # answers, and no more
        many = ask(lanes, "acme", 6)
        await settle()
        assert engine.running == ["acme"] * 2
        one = ask(lanes, "globex", 1)
        await settle()
        assert engine.running == ["acme", "acme", "globex"]
        engine.go_on.set()
        assert await asyncio.gather(*many, *one) == [[("acme",)]] * 6 + [[("globex",)]]
        assert engine.most == 3

    asyncio.run(scene())


def test_who_waits_too_long_is_overdue_and_who_comes_too_late_is_refused() -> None:
    async def scene() -> None:
        engine = Slow()
        lanes = TenantLimiter(engine, 1)  # type: ignore[arg-type]  # answers, and no more
        waiting = ask(lanes, "acme", 1 + MAX_QUEUED - 1)
        await settle()
        with pytest.raises(QueryTimeout):
            await lanes.for_tenant("acme").rows(Sql("late"), 0.01)
        last = ask(lanes, "acme", 1)
        await settle()
        with pytest.raises(
            Unavailable, match="33 concurrent queries of this organization"
        ) as refused:
            await lanes.for_tenant("acme").rows(Sql("beyond"), 5.0)
        assert refused.value.retry_after == 1
        engine.go_on.set()
        await asyncio.gather(*waiting, *last)

    asyncio.run(scene())


def threads() -> set[str]:
    return {path.name for path in Path("/proc/self/task").iterdir()}


@pytest.mark.parametrize("nice", [0, 10])
def test_all_threads_of_a_pool_are_as_nice_as_it_is_told(tmp_path: Path, nice: int) -> None:
    before = threads()
    least = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    pool = DuckDBEngine(
        "nice", str(tmp_path), tmp_path / "spill", PoolLimits(64, 3, concurrency=2, nice=nice)
    )
    asyncio.run(pool.rows(Sql("SELECT COUNT(*) FROM range(2000000) AS t(i) WHERE i % 3 = 0"), 10.0))

    priorities = [os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in threads() - before]
    pool.close()
    expected = max(least, nice) if nice else least
    assert priorities.count(expected) >= 3  # the thread that runs the query, and two of DuckDB


def test_others_have_their_turn_between_the_requests_of_a_tenant() -> None:
    slots, done = TenantSlots(1), []

    async def parse(tenant: str) -> None:
        async with slots.slot(tenant, asyncio.get_running_loop().time() + 60):
            done.append(tenant)

    async def scene() -> None:
        await asyncio.gather(*(parse(tenant) for tenant in (*["acme"] * 50, "globex")))

    asyncio.run(scene())

    assert len(done) == 51
    assert done.index("globex") <= 1


def test_a_tenant_has_so_many_slots_and_gives_them_back() -> None:
    async def scene() -> None:
        slots, go_on = TenantSlots(2), asyncio.Event()
        loop = asyncio.get_running_loop()

        async def work() -> None:
            async with slots.slot("acme", loop.time() + 60):
                await go_on.wait()

        tasks = [asyncio.create_task(work()) for _ in range(2)]
        await settle()
        with pytest.raises(QueryTimeout):
            async with slots.slot("acme", loop.time() + 0.01):
                pytest.fail("there is no third slot")
        go_on.set()
        await asyncio.gather(*tasks)
        async with slots.slot("acme", loop.time() + 0.01):
            pass

    asyncio.run(scene())
