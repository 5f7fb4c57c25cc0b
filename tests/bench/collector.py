"""Collector benchmark: acknowledged requests per second and CPU per event, beside a baseline.

`python -m tests.bench.collector` starts a real Kafka and both, and loads them in turns, so that
whatever else the machine does falls on both: ours with a website id, and with an API key.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from msgspec import Struct

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.registry import KeyScope, RegistryStore, validation
from schemas.registry.migrate import migrate
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from tests.bench.results import BenchmarkResult, Figure
from tests.http_client import call
from tests.installation import ROOT, eventually, free_port

VISITORS = 200


class Case(Struct, frozen=True):
    """One kind of load."""

    name: str
    events: int
    connections: int
    speed: int
    """How many times as fast as the plain one it should be."""


CASES = (
    Case("1 event, 64 connections", 1, 64, 2),
    Case("1 event, 256 connections", 1, 256, 2),
    Case("100 events, 16 connections", 100, 16, 3),
)
MAX_KEY_RATIO = 1.1
"""CPU of a request with an API key, beside the same with a website id."""
PLAIN = "plain Starlette, send_and_wait"
HOW = (
    "Posts of about 400 bytes an event on keep-alive connections, answered after a real Kafka "
    "acknowledged (acks=all, idempotent), one process each, loaded in turns; load generator and "
    "Kafka share the same cores."
)


class Server(Struct, frozen=True):
    """A collector, and how requests to it are authenticated."""

    name: str
    pid: int
    port: int
    target: str
    key: str = ""
    """The API key that it is sent; empty: the website id in its target."""


class Run(Struct, frozen=True):
    """One load on one server."""

    requests_per_second: float
    cpu_us_per_event: float
    p50_ms: float
    p99_ms: float


class Comparison(Struct, frozen=True):
    """One case: medians of all rounds."""

    case: Case
    plain: Run
    ours: Run
    """With a website id, as from browsers."""
    keyed: Run
    """With an API key, as from servers."""


def measure() -> BenchmarkResult:
    """All in turns, for all cases."""
    with tempfile.TemporaryDirectory() as folder:
        return BenchmarkResult(
            "Collector", HOW, [f for case in compare(Path(folder)) for f in _figures(case)]
        )


def compare(folder: Path, seconds: float = 4.0, rounds: int = 3) -> list[Comparison]:
    """Load all in turns, for all cases; medians of the rounds."""
    with servers(folder) as compared:
        return [_case(folder, case, compared, seconds, rounds) for case in CASES]


def _figures(found: Comparison) -> Iterator[Figure]:
    case, ours, plain = found.case, found.ours, found.plain
    yield Figure(
        f"{case.name}: acknowledged requests", ours.requests_per_second, "/s",
        plain.requests_per_second, PLAIN, f"ratio ≥ {case.speed}",
    )  # fmt: skip
    yield Figure(
        f"{case.name}: CPU of the collector", ours.cpu_us_per_event, "µs/event",
        plain.cpu_us_per_event, PLAIN, f"ratio ≤ {1 / case.speed:.2f}",
    )  # fmt: skip
    yield Figure(
        f"{case.name}, with an API key: CPU of the collector", found.keyed.cpu_us_per_event,
        "µs/event", ours.cpu_us_per_event, "with a website id", f"ratio ≤ {MAX_KEY_RATIO}",
    )  # fmt: skip
    yield Figure(f"{case.name}: answered, median", ours.p50_ms, "ms", plain.p50_ms, PLAIN)
    yield Figure(f"{case.name}: answered, p99", ours.p99_ms, "ms", plain.p99_ms, PLAIN)


def _case(
    folder: Path, case: Case, compared: Sequence[Server], seconds: float, rounds: int
) -> Comparison:
    bodies = folder / f"bodies-{case.events}"
    bodies.write_bytes(b"\n".join(make_bodies(case.events)))
    runs: dict[str, list[Run]] = {server.name: [] for server in compared}
    for server in (*compared,) * rounds:
        runs[server.name].append(load(server, case, bodies, seconds))
    return Comparison(case, *(_median(runs[server.name]) for server in compared))


def load(server: Server, case: Case, bodies: Path, seconds: float) -> Run:
    """Load one server for so many seconds."""
    process = psutil.Process(server.pid)
    before = process.cpu_times()
    done = subprocess.run(
        [
            sys.executable, "-m", "tests.bench.load_generator", str(server.port), server.target,
            str(case.connections), str(seconds), str(bodies), "--key", server.key,
        ],
        cwd=ROOT, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    after = process.cpu_times()
    answered = json.loads(done.stdout)
    assert not answered["bad"], answered
    assert not answered["lost"], answered
    cpu = after.user + after.system - before.user - before.system
    return Run(
        answered["requests"] / answered["seconds"],
        cpu * 1e6 / (answered["requests"] * case.events),
        answered["p50_ms"],
        answered["p99_ms"],
    )


def make_bodies(events: int) -> Iterator[bytes]:
    """Bodies as trackers send them: about 400 bytes an event, each of another visitor."""
    for number in range(VISITORS):
        data_set = [_event(number, position) for position in range(events)]
        yield json.dumps(data_set if events > 1 else data_set[0]).encode()


def _event(number: int, position: int) -> dict[str, object]:
    return {
        "name": "screen_view",
        "anonymousId": f"anon_{number:08d}",
        "sessionId": f"sess_{number:08d}",
        "timestamp": now_ms() + position,
        "path": f"https://shop.example/products/{position}?utm_source=news&utm_medium=email",
        "title": "A product of the shop",
        "referrer": "https://www.google.com/",
        "language": "en-US",
        "timezone": "Europe/Berlin",
        "screen_resolution": "1920x1080",
        "properties": {"plan": "pro", "amount": 49.9, "items": 3, "returning": True},
    }


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Server, Server, Server]]:
    """Kafka, the plain collector, ours with a website id, and the same with an API key."""
    settings = Settings(
        data_dir=str(folder),
        broker_port=free_port(),
        broker_controller_port=free_port(),
        collect_port=free_port(),
    )
    with Broker(folder / "broker", settings.broker_port, settings.broker_controller_port):
        ensure_topics(settings, required_topics(settings))
        website, key = _website_and_key(settings)
        plain_port = free_port()
        commands = [
            ["tests.bench.baseline_collector", settings.brokers, "events", str(plain_port)],
            ["ingest", "--name", "collector-1"],
        ]
        started = [_start(settings, command) for command in commands]
        plain = Server("plain", started[0].pid, plain_port, "/track")
        ours = Server("ours", started[1].pid, settings.collect_port, f"/track?website_id={website}")
        keyed = Server("with a key", ours.pid, ours.port, "/track", key)
        try:
            eventually(lambda: _answers(plain) and _answers(ours))
            yield plain, ours, keyed
        finally:
            for process in started:
                process.terminate()
                process.wait(30)


def _start(settings: Settings, command: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **to_environment(settings)}
    return subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT, env=environment)


def _website_and_key(settings: Settings) -> tuple[str, str]:
    """The id of a website, and an API key of its organization."""
    migrate(settings.registry_url)
    store, now = RegistryStore(settings.registry_url), now_ms()
    owner = store.create(
        validation.new_organization("Bench", "enterprise", now, {"collect": 10**9})
    )
    website = store.create(validation.new_website(owner.id, "shop.example", now))
    key, text = validation.new_key(owner.id, [KeyScope.TRACK_EVENTS], now)
    store.create(key)
    store.close()
    return website.id, text


def _answers(server: Server) -> bool:
    try:
        url = f"http://127.0.0.1:{server.port}{server.target}"
        return call("POST", url, {"name": "ready"}).status == 200
    except OSError:
        return False


def _median(runs: Sequence[Run]) -> Run:
    return Run(
        *(statistics.median(getattr(run, name) for run in runs) for name in Run.__struct_fields__)
    )


if __name__ == "__main__":
    print(measure().text())
