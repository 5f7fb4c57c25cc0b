"""Counts that processes share, in a file and on a real server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.http.rate_limit import STEP_MS
from schemas.http.rate_limit_headers import WINDOW_MS
from schemas.http.server_counts import ServerCounts
from schemas.http.shared_counts import PROBES, SLOTS, Counted, MachineCounts, SharedCounts
from tests.valkey_server import PASSWORD, ValkeyServer

NOW = 1_796_000_000_000
A, B = b"a" * 16, b"b" * 16


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


def counts_of(kind: str, folder: Path, server: ValkeyServer) -> SharedCounts:
    if kind == "machine":
        return MachineCounts(folder / "counts")
    return ServerCounts(server.url, password=PASSWORD)


@pytest.mark.parametrize("kind", ["machine", "server"])
def test_two_processes_see_the_sum_of_both(tmp_path: Path, server: ValkeyServer, kind: str) -> None:
    async def adding() -> None:
        one, other = (counts_of(kind, tmp_path, server) for _ in range(2))
        await one.add([Counted(A, 3, 300, 30), Counted(B, 1)])
        first, second = await other.add([Counted(A, 2, 200, 20), Counted(B)])

        assert (first.requests, first.bytes, first.items) == (5, 500, 50)
        assert (second.requests, first.processes) == (1, 1 if kind == "machine" else 2)
        assert 0 < first.leaves_ms <= WINDOW_MS + STEP_MS
        await one.close()
        await other.close()

    asyncio.run(adding())


def test_a_step_leaves_the_window_of_a_machine(tmp_path: Path) -> None:
    now = NOW
    counts = MachineCounts(tmp_path / "counts", lambda: now)

    def at(seconds: float, count: int) -> Counted:
        nonlocal now
        now = NOW + int(seconds * 1000)
        return asyncio.run(counts.add([Counted(A, count)]))[0]

    assert at(0, 7).requests == 7
    assert at(30, 2).requests == 9
    left = at(59.9, 0)
    assert (left.requests, left.leaves_ms) == (9, 5_100)
    assert at(65, 0).requests == 2
    assert at(200, 0).requests == 0


def test_a_full_file_forgets_the_bucket_that_was_used_longest_ago(tmp_path: Path) -> None:
    now = NOW
    counts = MachineCounts(tmp_path / "counts", lambda: now)
    same_slot = [(SLOTS * 8).to_bytes(4, "little") + bytes([n] * 12) for n in range(PROBES + 1)]

    def add(name: bytes, second: int) -> int:
        nonlocal now
        now = NOW + STEP_MS * second
        return asyncio.run(counts.add([Counted(name, 1)]))[0].requests

    assert [add(name, second) for second, name in enumerate(same_slot)] == [1] * (PROBES + 1)
    assert add(same_slot[-1], 9) == 2
    assert add(same_slot[0], 9) == 1
