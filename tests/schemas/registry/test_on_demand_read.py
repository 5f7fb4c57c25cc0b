"""Reads on demand: shared, limited, and not repeated for the same id."""

import asyncio
import time

import pytest

from schemas.registry import on_demand_read
from schemas.registry.contents import RegistryVersion
from schemas.registry.on_demand_read import (
    BURST_READS,
    MAX_NOT_FOUND,
    SECONDS_PER_READ,
    OnDemandRead,
)

FIRST, SECOND = RegistryVersion("a", 1), RegistryVersion("a", 2)


class CountedRead:
    """Counts reads, and notes when each began."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.has_begun = asyncio.Event()
        self.on_demand = OnDemandRead(self.read)

    async def read(self) -> None:
        self.began.append(time.monotonic())
        self.has_begun.set()
        await asyncio.sleep(0)


def test_a_burst_is_read_at_once_and_the_rest_at_the_rate() -> None:
    async def ask_in_turn() -> CountedRead:
        counted = CountedRead()
        for number in range(BURST_READS + 3):
            await counted.on_demand.read_for([f"id_{number}"], FIRST)
        return counted

    began = asyncio.run(ask_in_turn()).began

    assert len(began) == BURST_READS + 3
    assert began[-1] - began[0] >= 2 * SECONDS_PER_READ


def test_an_id_is_looked_for_again_at_another_version() -> None:
    async def ask() -> list[int]:
        counted = CountedRead()
        reads = []
        for version in (FIRST, FIRST, SECOND, SECOND):
            await counted.on_demand.read_for(["id"], version)
            reads.append(len(counted.began))
        return reads

    assert asyncio.run(ask()) == [1, 1, 2, 2]


def test_a_request_during_a_read_gets_a_later_read() -> None:
    async def ask() -> int:
        counted = CountedRead()
        first = asyncio.create_task(counted.on_demand.read_for(["a"], FIRST))
        await counted.has_begun.wait()
        await counted.on_demand.read_for(["b"], FIRST)
        await first
        return len(counted.began)

    assert asyncio.run(ask()) == 2


def test_the_memory_for_ids_that_were_not_found_is_bounded() -> None:
    async def ask() -> list[int]:
        counted = CountedRead()
        await counted.on_demand.read_for([f"id_{n}" for n in range(MAX_NOT_FOUND)], FIRST)
        await counted.on_demand.read_for(["one more"], FIRST)
        await counted.on_demand.read_for(["id_0"], FIRST)
        return [len(counted.began)]

    assert asyncio.run(ask()) == [3]


def test_a_read_that_hangs_holds_no_request_and_no_second_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(on_demand_read, "WAIT_SECONDS", 0.05)

    async def ask() -> None:
        began, answers = [], asyncio.Event()

        async def hang() -> None:
            began.append(time.monotonic())
            await answers.wait()

        on_demand = OnDemandRead(hang)
        many = [on_demand.read_for([f"id_{number}"], FIRST) for number in range(100)]
        await asyncio.gather(*many)
        monkeypatch.setattr(on_demand_read, "WAIT_SECONDS", 60)
        for number in range(1000):
            await asyncio.wait_for(on_demand.read_for([f"later_{number}"], FIRST), 10)
        assert len(began) == 1

        answers.set()
        await asyncio.sleep(0)  # the read ends, and requests get one again
        await on_demand.read_for(["id_0"], FIRST)
        assert len(began) == 2

    asyncio.run(ask())
