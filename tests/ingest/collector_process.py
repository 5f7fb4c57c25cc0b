"""A collector process on a real Kafka, and what that Kafka holds."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from copy import copy
from pathlib import Path
from typing import Any, Self

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import ensure_topics, partition_counts, required_topics
from schemas.envelope import Envelope, decode_chunk
from schemas.registry import Link, Organization, RegistryStore, Website
from schemas.runtime.environment import to_environment
from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.settings import Settings
from tests.http_client import Reply, call
from tests.ingest.in_memory_collector import NOW
from tests.installation import ROOT, eventually, free_port
from tests.registries import make_registry

STAMPS: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}


class CollectorProcess:
    """One process with a registry of its own; its topics have a prefix of their own."""

    def __init__(self, folder: Path, kafka: str, **settings: Any) -> None:
        self.settings = Settings(
            data_dir=str(folder), kafka=kafka, collect_port=free_port(), **settings
        )
        self.name = "collector-1"
        self.log = folder / "collector.log"
        folder.mkdir(parents=True, exist_ok=True)
        make_registry(self.settings.registry_url)
        store = RegistryStore(self.settings.registry_url)
        store.create(Organization(id="acme", name="Acme", plan="enterprise", **STAMPS))
        store.create(Website(id="shop", organization_id="acme", domain="shop.example", **STAMPS))
        store.close()

    @classmethod
    def beside(cls, other: "CollectorProcess", name: str) -> "CollectorProcess":
        """Another process with the same settings, on the same port."""
        process = copy(other)
        process.name, process.log = name, other.log.with_name(f"{name}.log")
        return process

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings.collect_port}"

    def start(self) -> Self:
        """Start the process; return when it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ingest", "--name", self.name],
                cwd=ROOT, env={**os.environ, **to_environment(self.settings)},
                stdout=log, stderr=log,
            )  # fmt: skip
        eventually(self._answers)
        return self

    def ready(self) -> bool:
        return call("GET", f"{self.url}/health/ready").status == 200

    def heartbeat_ready(self) -> bool:
        """Whether this process, of several on the port, says that it is ready."""
        return any(
            (beat.pid, beat.state) == (self.process.pid, "ready")
            for beat in read_heartbeats(self.settings.data / "run")
        )

    def post(self, body: object, path: str = "/track?website_id=shop", **more: Any) -> Reply:
        return call("POST", self.url + path, body, **more)

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.settings.collect_port), 20)

    def add_link(self, slug: str) -> None:
        store = RegistryStore(self.settings.registry_url)
        store.create(
            Link(
                id=f"lnk_{slug}", organization_id="acme", name=slug, slug=slug,
                target_url="https://t.example/", **STAMPS,
            )
        )  # fmt: skip
        store.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End the process; its exit code."""
        self.process.send_signal(number)
        try:
            return self.process.wait(40)
        finally:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_raised: object) -> None:
        self.stop()

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return call("GET", f"{self.url}/health/live", seconds=1).status == 200
        except OSError:
            return False


def start_collector(folder: Path, broker: Broker, **settings: Any) -> CollectorProcess:
    """A collector whose topics are there."""
    collector = CollectorProcess(folder, broker.address, topic_prefix=f"{folder.name}-", **settings)
    ensure_topics(Settings(kafka=broker.address), required_topics(collector.settings))
    return collector


def published_envelopes(collector: CollectorProcess, topic: str = "events") -> list[Envelope]:
    """Every envelope that Kafka has of this collector's topic."""
    messages = read_topic(collector, topic).values()
    return [e for part in messages for message in part for e in decode_chunk(message).envelopes]


def published_names(collector: CollectorProcess) -> list[str]:
    """Names of all events that Kafka has."""
    return [
        item["name"]
        for envelope in published_envelopes(collector)
        for item in msgspec.json.decode(envelope.items)
    ]


def read_topic(collector: CollectorProcess, topic: str = "events") -> dict[int, list[bytes]]:
    """The messages of each topic partition."""
    records = read_records(collector, topic)
    return {partition: [r.value for r in found] for partition, found in records.items()}


def read_records(collector: CollectorProcess, topic: str = "events") -> dict[int, list[Any]]:
    """The messages of each topic partition, with their headers."""
    brokers, name = collector.settings.brokers, collector.settings.topic(topic)
    count = partition_counts(collector.settings, [name])[name]
    return asyncio.run(_read(brokers, [TopicPartition(name, number) for number in range(count)]))


async def _read(brokers: str, places: list[TopicPartition]) -> dict[int, list[Any]]:
    consumer = AIOKafkaConsumer(bootstrap_servers=brokers, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        messages: dict[int, list[Any]] = {place.partition: [] for place in places}
        while any([await consumer.position(place) < ends[place] for place in places]):
            for place, records in (await consumer.getmany(timeout_ms=200)).items():
                messages[place.partition] += records
        return messages
    finally:
        await consumer.stop()
