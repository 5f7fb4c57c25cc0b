"""Pipelined requests of all connections start in turn."""

import asyncio
from collections import Counter

from schemas.http.connection_limits import PAUSE_SECONDS, STARTS, PipelineScheduler

begun: Counter[str] = Counter()


class Endless:
    """A connection that always has one more pipelined request; each completes at once."""

    def __init__(self, name: str, scheduler: PipelineScheduler) -> None:
        self._name = name
        self._turns = scheduler

    def begin_next(self) -> None:
        begun[self._name] += 1
        asyncio.get_running_loop().call_soon(self._turns.start_or_queue, self)


async def pipelined_for(seconds: float, *names: str) -> float:
    """Let such connections go on for a while; how long that was."""
    begun.clear()
    scheduler, loop = PipelineScheduler(), asyncio.get_running_loop()
    began = loop.time()
    for name in names:
        scheduler.start_or_queue(Endless(name, scheduler))
    await asyncio.sleep(seconds)
    return loop.time() - began


def test_pipelining_connections_share_starts_evenly() -> None:
    took = asyncio.run(pipelined_for(0.05, *"abcdefgh"))

    assert STARTS < begun.total() <= STARTS * (took / PAUSE_SECONDS + 2)
    assert max(begun.values()) - min(begun.values()) <= 1


def test_a_single_pipelining_connection_does_not_wait() -> None:
    took = asyncio.run(pipelined_for(0.02, "a"))

    assert begun["a"] > 2 * STARTS * took / PAUSE_SECONDS
