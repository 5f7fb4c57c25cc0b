"""Which connection is closed for a new one, and whose pipelined request starts next."""

import asyncio
from collections import Counter

import pytest

from schemas.http.connection_limits import (
    MAX_SAMPLED,
    PAUSE_SECONDS,
    SAMPLE_SIZE,
    STARTS,
    NetworkGroups,
    PipelineScheduler,
)


class FixedConnection:
    """A connection in one state."""

    def __init__(self, since: float, answered: bool = False) -> None:
        self.since = since
        self.answered = answered

    def check_timeouts(self, now: float, crowded: bool) -> None: ...

    def is_responding(self) -> bool:
        return self.answered

    def evict(self) -> None: ...

    def terminate(self) -> None: ...


@pytest.fixture
def groups() -> NetworkGroups:
    return NetworkGroups()


def held(
    groups: NetworkGroups, network: str, *connections: FixedConnection
) -> tuple[FixedConnection, ...]:
    for connection in connections:
        groups.add(connection, network)
    return connections


def test_the_longest_waiting_of_the_largest_network_is_evicted(groups: NetworkGroups) -> None:
    (first,) = held(groups, "a", FixedConnection(1.0))
    _, oldest, _ = held(
        groups, "b", FixedConnection(9.0), FixedConnection(5.0), FixedConnection(7.0)
    )

    assert groups.candidate() is oldest

    groups.remove(oldest, "b")
    held(groups, "a", FixedConnection(8.0), FixedConnection(2.0))
    assert groups.candidate() is first


def test_connections_that_are_being_served_are_not_evicted(groups: NetworkGroups) -> None:
    held(groups, "a", *(FixedConnection(1.0, answered=True) for _ in range(3)))
    assert groups.candidate() is None

    (waiting,) = held(groups, "b", FixedConnection(9.0))
    assert groups.candidate() is waiting


def test_connections_of_a_trusted_proxy_are_evicted_last(groups: NetworkGroups) -> None:
    proxied = held(groups, "", *(FixedConnection(float(n)) for n in range(5)))
    (direct,) = held(groups, "a", FixedConnection(9.0))

    assert groups.candidate() is direct
    groups.remove(direct, "a")
    assert groups.candidate() is proxied[0]


def test_an_eviction_samples_connections_and_the_next_one_others(groups: NetworkGroups) -> None:
    held(groups, "a", *(FixedConnection(1.0, answered=True) for _ in range(SAMPLE_SIZE)))
    (waiting,) = held(groups, "a", FixedConnection(2.0))

    assert groups.candidate() is None
    assert groups.candidate() is waiting

    many = NetworkGroups()
    for network in range(2 * MAX_SAMPLED):
        held(many, f"n{network}", FixedConnection(1.0, answered=True))
    assert many.candidate() is None
    assert sum(map(many.size, many._members)) == 2 * MAX_SAMPLED


def test_a_network_without_connections_takes_no_memory(groups: NetworkGroups) -> None:
    for connection in held(groups, "a", FixedConnection(1.0), FixedConnection(2.0)):
        groups.remove(connection, "a")

    assert (groups.size("a"), groups._members, groups._by_size) == (0, {}, {})


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
    def does_not_wait() -> bool:
        took = asyncio.run(pipelined_for(0.02, "a"))
        return begun["a"] > 2 * STARTS * took / PAUSE_SECONDS

    assert any(does_not_wait() for _ in range(10))  # a busy machine may stop the process meanwhile
