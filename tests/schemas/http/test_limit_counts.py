"""Counts that processes share, in a file and on a real Valkey server, and who reads them."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from valkey import Valkey

from schemas.http import limit_counts
from schemas.http.limit_counts import (
    COLLECTOR,
    PROBES,
    SLOTS,
    Counted,
    LimitUsage,
    MachineCounts,
    ServerCounts,
    SharedCounts,
    Usage,
    server_address,
    server_counts,
)
from schemas.http.limits import STEP_MS, WINDOW_MS
from schemas.http.shared_limits import SharedRateLimiter
from schemas.plans import Group, Limit
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from tests.installation import free_port
from tests.tls_proxy import Certificates, TlsProxy
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
        assert second.requests == 1
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


def test_a_server_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    password_file = tmp_path / "password"
    password_file.write_text("secret\n")
    settings = Settings(
        data_dir=str(tmp_path),
        limits_url=f"redis://127.0.0.1:{free_port()}",
        limits_password_file=str(password_file),
    )
    counts = server_counts(settings)
    assert counts is not None

    async def add() -> None:
        with pytest.raises(OSError, match=r"127\.0\.0\.1"):
            await counts.add([Counted(A, 1)])
        await counts.close()

    asyncio.run(add())
    assert server_counts(Settings(data_dir=str(tmp_path))) is None


def test_the_certificate_of_a_server_with_tls_is_verified(
    tmp_path: Path, server: ValkeyServer
) -> None:
    ours, others = Certificates(tmp_path / "ours"), Certificates(tmp_path / "others")
    password = tmp_path / "password"
    password.write_text(PASSWORD)

    async def added(host: str, authority: Path | None) -> int:
        """The requests in the window, counted over TLS."""
        settings = Settings(
            data_dir=str(tmp_path),
            limits_url=f"rediss://{host}:{proxy.port}/0",
            limits_password_file=str(password),
            limits_ca_file=str(authority or ""),
        )
        counts = server_counts(settings)
        assert counts is not None
        try:
            (counted,) = await counts.add([Counted(b"t" * 16, 1)])
        finally:
            await counts.close()
        return counted.requests

    with TlsProxy(server.port, ours) as proxy:
        assert asyncio.run(added("127.0.0.1", ours.authority_file)) == 1
        for authority in (others.authority_file, None):
            with pytest.raises(OSError, match="certificate verify failed"):
                asyncio.run(added("127.0.0.1", authority))
        with pytest.raises(OSError, match="not valid for 'localhost'"):
            asyncio.run(added("localhost", ours.authority_file))
        assert asyncio.run(added("127.0.0.1", ours.authority_file)) == 2


def test_an_address_has_no_password() -> None:
    assert server_address("rediss://user:secret@limits.example:7000/1") == "limits.example:7000"


def test_counts_of_a_server_expire(server: ValkeyServer) -> None:
    async def add() -> None:
        counts = ServerCounts(server.url, password=PASSWORD)
        await counts.add([Counted(b"c" * 16, 1)])
        await counts.close()

    asyncio.run(add())
    with closing(Valkey(port=server.port, password=PASSWORD)) as client:
        key = limit_counts.KEY_PREFIX + (b"c" * 16).hex().encode()
        left: Any = client.pttl(key)
    assert 0 < left <= WINDOW_MS + 2 * STEP_MS


def test_requests_that_wait_are_counted_if_they_fit(server: ValkeyServer) -> None:
    async def reserve() -> list[tuple[int, int]]:
        """Reserved requests and the sum of the window, of one attempt after the other."""
        counts = ServerCounts(server.url, password=PASSWORD)
        results = []
        for added, limit, wanted in (
            (Counted(b"w" * 16, 3), 10, 4),
            (Counted(b"w" * 16), 10, 4),
            (Counted(b"w" * 16), 10, 3),
            (Counted(b"w" * 16), 10, 1),
            (Counted(b"v" * 16), 10, 20),  # only an empty bucket has room for so many
            (Counted(b"v" * 16), 10, 1),
        ):
            [counted] = await counts.reserve([(added, limit, wanted)])
            results.append((counted.reserved, counted.requests))
        await counts.close()
        return results

    assert asyncio.run(reserve()) == [(4, 7), (0, 7), (3, 10), (0, 10), (20, 20), (0, 20)]


KEY = (Group.COLLECT, "acme")


async def usage_after(settings: Settings, reader: Settings) -> Usage:
    """What a reader sees after a collector counted three requests with seven items."""
    limiter = SharedRateLimiter.for_settings(settings, COLLECTOR)
    bucket = limiter.tenant_bucket(KEY, Limit(100), "a test", now_ms())
    bucket.add(now_ms(), 3, 500, 7)
    await limiter.close()
    return await LimitUsage(reader).read(COLLECTOR, [KEY, (Group.COLLECT, "globex")])


def test_a_reader_sees_what_a_collector_of_this_machine_counted(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))

    usage = asyncio.run(usage_after(settings, settings))

    ours, theirs = usage.counts
    assert (ours.requests, ours.bytes, ours.items, usage.all_machines) == (3, 500, 7, False)
    assert theirs.requests == 0


def test_a_reader_sees_what_a_collector_of_another_machine_counted(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    with ValkeyServer() as server:
        here, there = (
            Settings(
                data_dir=str(tmp_path / name),
                limits_url=server.url,
                limits_password_file=str(password),
            )
            for name in ("here", "there")
        )
        usage = asyncio.run(usage_after(there, here))

    assert (usage.counts[0].requests, usage.all_machines) == (3, True)


def test_where_no_process_has_counted_nothing_is_created(tmp_path: Path) -> None:
    usage = asyncio.run(LimitUsage(Settings(data_dir=str(tmp_path))).read(COLLECTOR, [KEY]))

    assert usage.counts[0].requests == 0
    assert list(tmp_path.iterdir()) == []


def test_a_reader_without_an_answer_of_the_server_has_an_error(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), limits_url=f"redis://127.0.0.1:{free_port()}")

    with pytest.raises(OSError, match=r"127\.0\.0\.1"):
        asyncio.run(LimitUsage(settings).read(COLLECTOR, [KEY]))
