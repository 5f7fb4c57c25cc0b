"""Worker benchmark: CPU per event while it works off a backlog, beside stock Faust.

`python -m tests.bench.worker` starts a real Kafka, fills two topics with events of the same crowd
(ours in chunks of requests, as the collector makes them; stock Faust's one by one), and measures
each process while it reads. Ours decodes, enriches and stores exactly once; the other only decodes.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import psutil
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import TopicSpec, ensure_topics, required_topics
from schemas.lake.delta_table import open_table, read_version
from schemas.registry.migrate import migrate
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from tests.bench.diverse_traffic import ADDRESSES, AGENTS, PAGES, DiverseTraffic
from tests.bench.results import BenchmarkResult, Figure
from tests.bench.worker_stages import a_chunk
from tests.installation import ROOT, eventually, free_port

PARTITIONS = 8
CHUNKS = 1_600
EVENTS_EACH = 200
"""In a chunk, about: requests of 1 to 12 events each."""
PLAIN_EVENTS = 40_000
TIMEOUT_SECONDS = 120.0
QUIET_SECONDS = 6.0
"""Stock Faust commits every 2.8 s."""


def measure() -> BenchmarkResult:
    """Both, one after the other, on the same broker."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Broker(Path(folder) / "broker", free_port(), free_port()) as broker,
    ):
        settings = Settings(data_dir=folder, kafka=broker.address, partitions=PARTITIONS)
        ensure_topics(
            Settings(kafka=broker.address),
            [*required_topics(settings), TopicSpec("plain", PARTITIONS)],
        )
        migrate(settings.registry_url)
        ours = our_worker(settings)
        stock = stock_faust(broker.address, "plain")
    return BenchmarkResult(
        "Worker",
        f"A backlog on a real Kafka: some {CHUNKS * EVENTS_EACH:,} page views of some 690 bytes, "
        f"of a crowd with {AGENTS:,} agents, {ADDRESSES:,} addresses and {PAGES:,} pages, in "
        f"requests of 1 to 12 events; and {PLAIN_EVENTS:,} of them one by one for stock Faust, "
        "which decodes them and does nothing else.",
        (Figure("worker, CPU per event", ours, "µs", stock, "stock Faust per message", "≤ 15"),),
    )


def our_worker(settings: Settings) -> float:
    """CPU µs per event of a worker."""
    traffic, now = DiverseTraffic(), now_ms()
    bodies = (a_chunk(traffic, now, None, EVENTS_EACH) for _ in range(CHUNKS))
    asyncio.run(fill(settings.kafka, settings.topic("events"), bodies))
    command = ["-m", "stream", "worker", "--name", "worker-1"]
    return spent_per_event(command, to_environment(settings), lambda: stored(settings))


def stock_faust(broker: str, topic: str) -> float:
    """The same of stock Faust; what it has read is known from what it committed."""
    traffic, now = DiverseTraffic(), now_ms()
    bodies = [msgspec.json.encode(traffic.item(traffic.visitor(), now)) for _ in range(400)]
    asyncio.run(fill(broker, topic, (bodies[n % 400] for n in range(PLAIN_EVENTS))))
    command = ["-m", "tests.bench.baseline_faust", broker, topic]
    return spent_per_event(command, {}, lambda: asyncio.run(committed(broker, topic)))


def spent_per_event(
    command: list[str], environment: dict[str, str], done: Callable[[], int]
) -> float:
    """CPU µs per event of a process, from the first events that are done to the last."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        watched = psutil.Process(process.pid)
        first = last = eventually(done, TIMEOUT_SECONDS)
        begun = used = cpu(watched)
        looked = time.monotonic()
        while time.monotonic() - looked < QUIET_SECONDS:
            time.sleep(0.2)
            if (more := done()) > last:
                last, used, looked = more, cpu(watched), time.monotonic()
    finally:
        process.kill()
        process.wait()
    return (used - begun) / (last - first) * 1e6


def cpu(process: psutil.Process) -> float:
    """Seconds of CPU so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def stored(settings: Settings) -> int:
    """Rows in the events table."""
    handle = open_table(settings.lake_url, EVENTS)
    return read_version(handle, EVENTS).rows if handle else 0


async def fill(broker: str, topic: str, bodies: Iterable[bytes]) -> None:
    """Send the messages to the partitions in turn."""
    producer = AIOKafkaProducer(bootstrap_servers=broker, max_request_size=4_194_304)
    await producer.start()
    try:
        for number, body in enumerate(bodies):
            await producer.send(topic, body, partition=number % PARTITIONS)
    finally:
        await producer.stop()


async def committed(broker: str, topic: str) -> int:
    """Messages that the stock group has acknowledged."""
    consumer = AIOKafkaConsumer(bootstrap_servers=broker, group_id="stock")
    await consumer.start()
    try:
        places = [TopicPartition(topic, n) for n in range(PARTITIONS)]
        return sum([await consumer.committed(place) or 0 for place in places])
    finally:
        await consumer.stop()


if __name__ == "__main__":
    print(measure().text())
