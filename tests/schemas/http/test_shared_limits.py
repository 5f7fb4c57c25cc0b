"""Rate limits that several processes hold together, with a real Valkey server that is killed."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from schemas.errors import RateLimitExceeded
from schemas.http import shared_limits
from schemas.http.admission import Admission, LimitHolder
from schemas.http.limit_counts import Counted, MachineCounts, ServerCounts, server_address
from schemas.http.limits import SMALL_LIMIT, RateLimitBucket
from schemas.http.shared_limits import PROCESSES, SharedRateLimiter
from schemas.plans import Group, Limit
from schemas.registry import Organization
from schemas.runtime.clock import now_ms
from schemas.telemetry.instruments import LIMIT_FAILURES
from tests.installation import eventually
from tests.valkey_server import PASSWORD, ValkeyServer

FLOOD = Path(__file__).parent / "limit_flood.py"
ROOT = Path(__file__).parents[3]
NOW = 1_796_000_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


def passed_by(folders: Sequence[Path], limit: int, url: str = "") -> int:
    """How many requests processes pass that flood one bucket at the same time."""
    password_file = folders[0].parent / "password"
    password_file.write_text(PASSWORD)
    start = time.time() + 3.0
    arguments = [str(limit), "6", str(start), url, str(password_file) if url else ""]
    processes = [
        subprocess.Popen(
            [sys.executable, FLOOD, folder, *arguments],
            stdout=subprocess.PIPE, cwd=ROOT, env={"PYTHONPATH": str(ROOT)},
        )
        for folder in folders
    ]  # fmt: skip
    return sum(int(process.communicate(timeout=120)[0]) for process in processes)


def is_held(folder: Path, machines: int, url: str = "", limit: int = 6_000) -> bool:
    """Whether four processes pass the limit within 1 %, each time from nothing.

    Tried three times: a process that gets no CPU for a while passes what it was allowed before.
    """
    for attempt in range(3):
        folders = [folder / f"{attempt}-{number % machines}" for number in range(4)]
        for each in folders:
            each.mkdir(exist_ok=True)
        if abs(passed_by(folders, limit, url) - limit) <= limit // 100:
            return True
    return False


@pytest.mark.long
def test_processes_of_one_machine_hold_the_limit_together(tmp_path: Path) -> None:
    assert is_held(tmp_path, machines=1)


@pytest.mark.long
def test_processes_of_several_machines_hold_the_limit_together(
    tmp_path: Path, server: ValkeyServer
) -> None:
    assert is_held(tmp_path, machines=4, url=server.url)


@pytest.mark.long
def test_processes_of_one_machine_hold_a_small_limit_together(tmp_path: Path) -> None:
    assert is_held(tmp_path, machines=1, limit=120)


@pytest.mark.long
@pytest.mark.parametrize("limit", [30, 120])
def test_processes_of_several_machines_never_pass_more_than_a_small_limit(
    tmp_path: Path, server: ValkeyServer, limit: int
) -> None:
    """Tried three times: a process without CPU for a second loses the server, or its room."""
    passed = []
    for attempt in range(3):
        folders = [tmp_path / f"small{limit}x{attempt}-{number}" for number in range(4)]
        for folder in folders:
            folder.mkdir()
        passed.append(passed_by(folders, limit, server.url))
        if passed[-1] == limit:
            return
    pytest.fail(f"passed {passed} of {limit}")


def test_a_small_limit_is_exact_without_a_pause(tmp_path: Path) -> None:
    """Nothing is exchanged later: all requests of both processes come at once."""

    async def flood() -> list[int]:
        limiters = [
            SharedRateLimiter("collector", now_ms, MachineCounts(tmp_path / "counts"))
            for _ in range(2)
        ]
        buckets = [
            limiter.tenant_bucket("tenant", Limit(100), "a tenant", now_ms())
            for limiter in limiters
        ]
        passed = [0, 0]
        for _ in range(80):
            for number, bucket in enumerate(buckets):
                if bucket.fits(now_ms()):
                    bucket.add(now_ms(), 1, 0)
                    passed[number] += 1
        assert all(bucket.status().remaining == 0 for bucket in buckets)
        assert "limit for a tenant is 100 requests" in buckets[0].exceeded().message
        for limiter in limiters:
            await limiter.close()
        return passed

    assert asyncio.run(flood()) == [50, 50]


def test_what_a_counted_request_has_fits_without_more_room(tmp_path: Path) -> None:
    """A key's request is counted before its body is read; the last one that fits is stored."""

    async def last_request() -> bool:
        limiter = SharedRateLimiter("collector", now_ms, MachineCounts(tmp_path / "counts"))
        limit = Limit(SMALL_LIMIT + 500)
        bucket = limiter.tenant_bucket("tenant", limit, "a tenant", now_ms())
        while bucket.fits(now_ms()):
            bucket.add(now_ms(), 1, 0)
            if not bucket.fits(now_ms(), 0, 100, 1):
                return False
        await limiter.close()
        return True

    assert asyncio.run(last_request())


def test_a_request_fits_when_the_response_says(tmp_path: Path) -> None:
    """Entries of the process and those of all begin at other times."""

    async def waited_until_it_fits() -> bool:
        clock = [1_800_000_047_600]
        counts = MachineCounts(tmp_path / "counts", lambda: clock[0])
        limiter = SharedRateLimiter("query", lambda: clock[0], counts)
        bucket = limiter.tenant_bucket("tenant", Limit(30), "a tenant", clock[0])
        while bucket.fits(clock[0]):
            bucket.add(clock[0], 1, 0)
            clock[0] += 240
        clock[0] = bucket.exceeded().status.reset_ms
        fits = bucket.fits(clock[0])
        await limiter.close()
        return fits

    assert asyncio.run(waited_until_it_fits())


def test_while_others_hold_the_lock_what_was_known_bounds_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def count() -> tuple[int, int]:
        counts = MachineCounts(tmp_path / "counts")
        limiter = SharedRateLimiter("collector", now_ms, counts)
        bucket = limiter.tenant_bucket("tenant", Limit(100), "a tenant", now_ms())

        def passed() -> int:
            passed = 0
            while bucket.fits(now_ms()):
                bucket.add(now_ms(), 1, 0)
                passed += 1
            return passed

        def is_locked(_counts: object) -> Sequence[Counted]:
            raise BlockingIOError

        assert bucket.fits(now_ms())
        bucket.add(now_ms(), 1, 0)
        with monkeypatch.context() as patched:
            patched.setattr(counts, "add_now", is_locked)
            meanwhile = passed()
        after = passed()
        await limiter.close()
        return meanwhile, after

    assert asyncio.run(count()) == (49, 50)  # up to half need not be looked up for a moment


class Machine:
    """One process of a machine of its own."""

    def __init__(self, folder: Path, server: ValkeyServer) -> None:
        counts = ServerCounts(server.url, password=PASSWORD)
        address = server_address(server.url)
        self.limiter = SharedRateLimiter(
            "collector", now_ms, MachineCounts(folder), counts, address
        )
        self.bucket: RateLimitBucket = self.limiter.tenant_bucket(
            "tenant", Limit(100), "a tenant", now_ms()
        )

    def passes(self) -> bool:
        if not self.bucket.fits(now_ms()):
            return False
        self.bucket.add(now_ms(), 1, 0)
        return True


async def until_full(machine: Machine) -> int:
    """Requests that pass, one after the other, until one is refused for good."""
    passed, refused_at = 0, None
    while refused_at is None or time.monotonic() - refused_at < 0.5:
        if machine.passes():
            passed, refused_at = passed + 1, None
        else:
            refused_at = refused_at or time.monotonic()
        await asyncio.sleep(0.005)
    return passed


def test_without_the_server_requests_pass_by_the_count_of_the_machine(tmp_path: Path) -> None:
    async def lose(server: ValkeyServer, one: Machine, other: Machine, third: Machine) -> None:
        assert await until_full(one) == 100
        # its first requests, before it knew
        assert await until_full(other) <= 100 // PROCESSES
        assert "limit for a tenant is 100 requests" in other.bucket.exceeded().message
        failures = LIMIT_FAILURES.labels("server")._value.get()

        await asyncio.to_thread(server.kill)
        assert await until_full(third) == 100
        assert str(server.port) in str(third.limiter.problem)
        assert LIMIT_FAILURES.labels("server")._value.get() > failures

        await asyncio.to_thread(server.start)

        async def is_shared() -> bool:
            third.limiter.share(third.bucket)  # type: ignore[arg-type]
            await asyncio.sleep(0.05)
            return third.limiter.problem is None

        async with asyncio.timeout(60):
            while not await is_shared():
                pass

    async def lose_and_close(server: ValkeyServer) -> None:
        machines = [Machine(tmp_path / name, server) for name in ("one", "other", "third")]
        try:
            await lose(server, *machines)
        finally:
            for machine in machines:
                await machine.limiter.close()

    with ValkeyServer() as server:
        asyncio.run(lose_and_close(server))


@pytest.mark.long
def test_without_a_file_a_process_counts_alone_and_holds_the_limit(tmp_path: Path) -> None:
    """As on a full disk, or when a stopped process holds the lock."""

    async def count() -> int:
        limiter = SharedRateLimiter("collector", now_ms, MachineCounts(Path("/dev/full/counts")))
        bucket = limiter.tenant_bucket("tenant", Limit(1_000), "a tenant", now_ms())
        passed = 0
        for _ in range(2_000):
            if bucket.fits(now_ms()):
                bucket.add(now_ms(), 1, 0)
                passed += 1
            else:
                await asyncio.sleep(0.005)
        assert "each process" in str(limiter.problem)
        await limiter.close()
        return passed

    assert asyncio.run(count()) == 1_000


def test_a_full_disk_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "counts").symlink_to("/dev/full")
    counts = MachineCounts(tmp_path / "counts")

    with pytest.raises(OSError, match="No space left on device"):
        asyncio.run(counts.add([Counted(b"a" * 16, 1)]))
    asyncio.run(counts.close())


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    script = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('locked', flush=True); time.sleep(600)"
    )
    path = tmp_path / "counts"

    async def count(holder: subprocess.Popen[bytes]) -> None:
        limiter = SharedRateLimiter("collector", now_ms, MachineCounts(path))
        bucket = limiter.tenant_bucket("tenant", Limit(10), "a tenant", now_ms())
        assert bucket.fits(now_ms())
        bucket.add(now_ms(), 1, 0)
        await asyncio.to_thread(eventually, lambda: limiter.problem, 60)

        holder.kill()
        holder.wait()
        bucket.add(now_ms(), 1, 0)
        await asyncio.to_thread(eventually, lambda: limiter.problem is None, 60)
        await limiter.close()

    MachineCounts(path)
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        asyncio.run(count(holder))


@pytest.mark.parametrize("limit", [50, 150])
def test_requests_that_overlap_on_two_machines_pass_exactly_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Without a key: those of one network pass half of it, then those of others the rest."""
    monkeypatch.setattr(shared_limits, "MAX_WAIT_SECONDS", 30.0)

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
    monkeypatch.setattr(shared_limits, "MAX_WAIT_SECONDS", 0.01)

    async def wait() -> None:
        answers = asyncio.Event()

        async def reserve(asked: Sequence[tuple[Counted, int, int]]) -> Sequence[Counted]:
            await answers.wait()
            return [one for one, _, _ in asked]

        counts = ServerCounts("redis://127.0.0.1:1")
        monkeypatch.setattr(counts, "reserve", reserve)
        limiter = SharedRateLimiter("c", now_ms, MachineCounts(tmp_path / "counts"), counts)
        bucket = limiter.tenant_bucket("tenant", Limit(10), "a tenant", now_ms())
        await limiter.reserve([bucket], now_ms())
        assert not answers.is_set()
        answers.set()
        await limiter.close()

    asyncio.run(wait())


def test_those_who_come_while_the_server_is_asked_share_the_next_round_trip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[int]] = []

    async def reserve(counts: Sequence[tuple[Counted, int, int]]) -> Sequence[Counted]:
        asked.append([wanted for _, _, wanted in counts])
        await asyncio.sleep(0.01)
        return [Counted(one.name, wanted, reserved=wanted) for one, _, wanted in counts]

    async def wait() -> None:
        counts = ServerCounts("redis://127.0.0.1:1")
        monkeypatch.setattr(counts, "reserve", reserve)
        limiter = SharedRateLimiter("c", now_ms, MachineCounts(tmp_path / "counts"), counts)
        one, other = (limiter.new_bucket(n, Limit(10), "a tenant", NOW) for n in ("one", "other"))
        first = asyncio.create_task(limiter.reserve([one], now_ms(), 3))
        await asyncio.sleep(0.001)
        later = [([one], 1), ([one, other], 2), ([other], 1)]
        await asyncio.gather(first, *(limiter.reserve(b, now_ms(), cost) for b, cost in later))
        await limiter.close()

    asyncio.run(wait())
    assert asked == [[3], [1, 2, 2, 1]]


def test_a_reply_that_was_overtaken_gives_no_room_back(tmp_path: Path) -> None:
    limiter = SharedRateLimiter("c", now_ms, MachineCounts(tmp_path / "counts"))
    bucket = limiter.new_bucket("tenant", Limit(10), "a tenant", NOW)

    bucket.receive_of_server(Counted(bucket.name, 10), NOW)
    bucket.receive_of_server(Counted(bucket.name, 9, reserved=1), NOW + 1)

    assert (bucket.all_requests, bucket.reserved(NOW + 1)) == (10, 1)
    bucket.receive_of_server(Counted(bucket.name, 2), NOW + 60_001)
    assert bucket.all_requests == 2


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
    ticket = await service.admit({}, LimitHolder(owner, Group.QUERY, "shop"), network)
    try:
        await ticket.charge()
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
