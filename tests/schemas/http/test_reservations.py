"""Requests that wait for room in a small limit of several machines, and for how long."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from schemas.errors import RateLimitExceeded
from schemas.http import reservations
from schemas.http.admission import Admission
from schemas.http.reservations import Reservations
from schemas.http.server_counts import ServerCounts, Wanted
from schemas.http.shared_bucket import SharedBucket
from schemas.http.shared_counts import Counted, MachineCounts
from schemas.http.shared_rate_limit import SharedRateLimiter
from schemas.plans import Group, Limit
from schemas.registry import Organization
from schemas.runtime.clock import now_ms
from tests.valkey_server import PASSWORD, ValkeyServer


def bucket_of(folder: Path, name: str) -> SharedBucket:
    limiter = SharedRateLimiter("collector", now_ms, MachineCounts(folder / "counts"))
    return limiter.new_bucket(name, Limit(10), "a tenant", now_ms())


def test_those_who_come_while_the_server_is_asked_share_the_next_round_trip(tmp_path: Path) -> None:
    one, other = bucket_of(tmp_path, "one"), bucket_of(tmp_path, "other")
    asked: list[Sequence[Wanted]] = []

    async def exchange(wanted: Sequence[tuple[SharedBucket, Wanted]]) -> None:
        asked.append([want for _, want in wanted])
        await asyncio.sleep(0.01)

    async def wait() -> None:
        waiting = Reservations(exchange)
        first = asyncio.create_task(waiting.wait([one], 3))
        await asyncio.sleep(0.001)
        await asyncio.gather(
            first, *(waiting.wait([b], n) for b, n in ((one, 1), (one, 2), (other, 1)))
        )
        await waiting.close()

    asyncio.run(wait())
    assert asked == [[Wanted(10, 3, 3)], [Wanted(10, 3, 1), Wanted(10, 1, 1)]]


def test_room_of_requests_that_were_just_answered_is_not_given_to_the_next(tmp_path: Path) -> None:
    bucket = bucket_of(tmp_path, "one")
    asked: list[Sequence[int]] = []

    async def exchange(wanted: Sequence[tuple[SharedBucket, Wanted]]) -> None:
        asked.append([want.requests for _, want in wanted])
        await asyncio.sleep(0.01)
        for one, want in wanted:
            counted = Counted(one.name, want.requests, reserved=want.requests)
            one.receive(counted, now_ms())

    async def pass_six() -> None:
        waiting = Reservations(exchange)

        async def request() -> None:
            await waiting.wait([bucket], 1)
            bucket.add(now_ms(), 1, 0)

        first = [asyncio.create_task(request()) for _ in range(3)]
        await asyncio.sleep(0.001)
        await asyncio.gather(*first, *(request() for _ in range(3)))
        await waiting.close()

    asyncio.run(pass_six())
    assert asked == [[3], [3]]


@pytest.mark.parametrize("limit", [50, 150])
def test_requests_that_overlap_on_two_machines_pass_exactly_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Without a key: those of one network pass half of it, then those of others the rest."""
    monkeypatch.setattr(reservations, "MAX_WAIT_SECONDS", 30.0)

    async def flood(server: ValkeyServer) -> tuple[int, int]:
        limiters = machines(tmp_path, server)
        services = [Admission(limiter, now_ms) for limiter in limiters]
        owner = organization(limit)
        passed = []
        for networks in (1, 2 * limit):
            begun = []
            for number in range(2 * limit):
                service = services[number % 2]
                network = f"10.{networks}.{number % networks}.0"
                begun.append(asyncio.create_task(without_key(service, owner, network)))
                await asyncio.sleep(0.0005)
            passed.append(sum(await asyncio.gather(*begun)))
        for limiter in limiters:
            await limiter.close()
        return passed[0], passed[1]

    with ValkeyServer() as server:
        assert asyncio.run(flood(server)) == (limit // 2, limit // 2)


def test_nobody_waits_for_a_server_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reservations, "MAX_WAIT_SECONDS", 0.01)
    bucket = bucket_of(tmp_path, "one")

    async def wait() -> None:
        answers = asyncio.Event()

        async def exchange(_wanted: object) -> None:
            await answers.wait()

        waiting = Reservations(exchange)
        await waiting.wait([bucket], 1)
        assert not answers.is_set()
        answers.set()
        await waiting.close()

    asyncio.run(wait())


def test_room_that_nobody_took_is_there_for_the_next(tmp_path: Path) -> None:
    """As after a request whose client left while it waited."""

    async def pass_all(server: ValkeyServer) -> int:
        counts = ServerCounts(server.url, password=PASSWORD)
        limiter = SharedRateLimiter("c", now_ms, MachineCounts(tmp_path / "counts"), counts)
        bucket = limiter.tenant_bucket("tenant", Limit(10), "a tenant", now_ms())
        gone = asyncio.create_task(limiter.reserve([bucket], now_ms()))
        await asyncio.sleep(0)
        gone.cancel()
        passed = 0
        for _ in range(20):
            await limiter.reserve([bucket], now_ms())
            if bucket.fits(now_ms()):
                bucket.add(now_ms(), 1, 0)
                passed += 1
        await limiter.close()
        return passed

    with ValkeyServer() as server:
        assert asyncio.run(pass_all(server)) == 10


def machines(folder: Path, server: ValkeyServer) -> list[SharedRateLimiter]:
    """Limiters of two machines with one server."""
    return [
        SharedRateLimiter(
            "c", now_ms, MachineCounts(folder / name), ServerCounts(server.url, password=PASSWORD)
        )
        for name in ("one", "other")
    ]


def organization(limit: int) -> Organization:
    return Organization(
        id="acme", name="acme", plan="free", created_at=0, updated_at=0, limits={"query": limit}
    )


async def without_key(service: Admission, owner: Organization, network: str) -> int:
    """1 for a request that passes."""
    buckets = service.anonymous_buckets(network, owner, Group.QUERY, "shop", now_ms())
    await service.reserve(buckets)
    try:
        service.count_anonymous({}, buckets, Group.QUERY, now_ms())
    except RateLimitExceeded:
        return 0
    return 1


def test_services_of_two_machines_admit_exactly_a_small_limit(tmp_path: Path) -> None:
    """Requests without a key to both: of two buckets the smaller one ends it."""

    async def admitted(server: ValkeyServer) -> tuple[int, int]:
        limiters, owner = machines(tmp_path, server), organization(40)
        both = [Admission(limiter, now_ms) for limiter in limiters] * 30
        one_network = sum(await asyncio.gather(*(without_key(s, owner, "192.0.2.0") for s in both)))
        others = sum(
            await asyncio.gather(
                *(without_key(s, owner, f"198.51.{n}.0") for n, s in enumerate(both))
            )
        )
        for limiter in limiters:
            await limiter.close()
        return one_network, others

    with ValkeyServer() as server:
        assert asyncio.run(admitted(server)) == (20, 20)
