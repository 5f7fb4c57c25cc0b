"""Growth of the stream: a backlog stored by 1, 2 and 4 workers over a lake in an object store.

Each number of workers has a broker, a store and tables of its own; the messages are the same. What
counts on two cores is the CPU per event: it must not grow with the workers.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import psutil
from msgspec import Struct

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.lake.delta_table import open_table, read_version
from schemas.registry.migrate import migrate
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from tests.bench.diverse_traffic import DiverseTraffic
from tests.bench.results import SideBySide
from tests.bench.worker import EVENTS_EACH, PARTITIONS, cpu, fill, stored
from tests.bench.worker_stages import a_chunk
from tests.installation import ROOT, eventually, free_port
from tests.s3.server import S3Server

WORKERS = (1, 2, 4)
CHUNKS = 1_600
TIMEOUT_SECONDS = 300.0


class Stored(Struct, frozen=True):
    """Cost of storing the backlog."""

    events: int
    seconds: float
    """From the first message to the last commit."""
    worker_cpu: float
    """CPU seconds of all workers."""
    store_cpu: float
    kafka_cpu: float
    commits: int
    lake_bytes: int


def measure() -> SideBySide:
    """All numbers of workers, one after the other."""
    traffic, now = DiverseTraffic(), now_ms()
    bodies = [a_chunk(traffic, now, None, EVENTS_EACH) for _ in range(CHUNKS)]
    found = [stored_by(workers, bodies) for workers in WORKERS]
    assert len({each.events for each in found}) == 1, found
    load = os.getloadavg()[0]
    return SideBySide(
        "Growth: workers",
        f"{found[0].events:,} page views of some 690 bytes in a Kafka of {PARTITIONS} partitions, "
        "stored in an S3 server on this machine by so many workers, default settings; Kafka, "
        f"store and workers share {os.cpu_count()} cores, so the events per second do not grow "
        f"with the workers here; load {load:.1f}.",
        ["1 worker", *(f"{workers} workers" for workers in WORKERS[1:])],
        [
            ("CPU of all workers, µs/event", [1e6 * s.worker_cpu / s.events for s in found]),
            ("CPU of the store, µs/event", [1e6 * s.store_cpu / s.events for s in found]),
            ("CPU of Kafka, µs/event", [1e6 * s.kafka_cpu / s.events for s in found]),
            ("stored, events/s", [s.events / s.seconds for s in found]),
            ("commits to the events table", [s.commits for s in found]),
            ("events table, bytes/event", [s.lake_bytes / s.events for s in found]),
        ],
    )  # fmt: skip


def stored_by(workers: int, bodies: Sequence[bytes]) -> Stored:
    """Start new processes, send the messages, and wait until they are stored."""
    with (
        tempfile.TemporaryDirectory(prefix="tidemark-growth-") as name,
        Broker(Path(name) / "broker", free_port(), free_port()) as broker,
        S3Server(Path(name) / "s3") as store,
        patch.dict(os.environ, store.environment),
    ):
        settings = Settings(
            data_dir=name, kafka=broker.address, partitions=PARTITIONS, lake=store.url
        )
        ensure_topics(settings, required_topics(settings))
        migrate(settings.registry_url)
        with running_workers(settings, workers) as processes:
            assert broker.process is not None
            parts = (processes, [process_on(store.port)], [psutil.Process(broker.process.pid)])
            begun, before = time.monotonic(), [total(part) for part in parts]
            asyncio.run(fill(settings.kafka, settings.topic("events"), bodies))
            events, ended, after = until_stored(settings, parts)
        workers_cpu, store_cpu, kafka_cpu = (b - a for a, b in zip(before, after, strict=True))
        commits, size = table_of(settings)
        return Stored(events, ended - begun, workers_cpu, store_cpu, kafka_cpu, commits, size)


def until_stored(
    settings: Settings, parts: Sequence[Sequence[psutil.Process]]
) -> tuple[int, float, Sequence[float]]:
    """Events, instant and CPU of the parts at the last commit, when all messages are stored."""
    last, seen, spent = 0, time.monotonic(), [total(part) for part in parts]
    until = seen + TIMEOUT_SECONDS
    is_last = False
    while not is_last:
        assert time.monotonic() < until, f"{last} events are stored"
        is_last = stored_messages(settings) == CHUNKS
        time.sleep(0.2)
        if (rows := stored(settings)) > last:
            last, seen, spent = rows, time.monotonic(), [total(part) for part in parts]
    return last, seen, spent


def stored_messages(settings: Settings) -> int:
    """Messages of events that the table has, by what the workers report."""
    topic = settings.topic("events")
    beats = read_heartbeats(settings.data / "run")
    return sum(at.next_offset for beat in beats for at in beat.progress if at.topic == topic)


@contextmanager
def running_workers(settings: Settings, count: int) -> Iterator[Sequence[psutil.Process]]:
    """This number of workers, sharing the partitions."""
    names = [f"worker-{number}" for number in range(1, count + 1)]
    environment = {**os.environ, **to_environment(settings), "TIDEMARK_METRICS_PORT": "0"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "stream", "worker", "--name", name],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in names
    ]
    try:
        eventually(lambda: is_shared(settings, count), TIMEOUT_SECONDS)
        yield [psutil.Process(process.pid) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def is_shared(settings: Settings, count: int) -> bool:
    """Whether each worker is ready and has its share of the partitions of events."""
    beats = [beat for beat in read_heartbeats(settings.data / "run") if beat.state == "ready"]
    topic = settings.topic("events")
    shares = [{at.partition for at in beat.progress if at.topic == topic} for beat in beats]
    return len(shares) == count and sum(map(len, shares)) == PARTITIONS and all(shares)


def process_on(port: int) -> psutil.Process:
    """The child of this process that listens on a port."""
    children = psutil.Process().children()
    listens = (
        child
        for child in children
        if any(at.laddr and at.laddr.port == port for at in child.net_connections())
    )
    return next(listens)


def total(processes: Sequence[psutil.Process]) -> float:
    """Their CPU so far, in seconds."""
    return sum(map(cpu, processes))


def table_of(settings: Settings) -> tuple[int, int]:
    """Commits to the events table, and bytes of its data files."""
    handle = open_table(settings.lake_url, EVENTS)
    assert handle is not None
    version = read_version(handle, EVENTS)
    return handle.version(), sum(data_file.size for data_file in version.data_files)


if __name__ == "__main__":
    print(measure().text())
