"""A worker with topics, consumer group and lake of its own on a real broker."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from schemas.envelope import encode_chunk, encode_envelope
from schemas.kafka.request_ids import Headers
from schemas.kinds import ALL_KINDS
from schemas.lake.delta_table import open_table
from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from tests.registries import make_registry
from tests.stream.builders import named, rows


class Site:
    """A worker with topics, group and lake of its own."""

    def __init__(self, address: str, folder: Path, quiet_seconds: float = 0.0) -> None:
        self.log = folder / "worker.log"
        self.settings = Settings(
            data_dir=str(folder),
            kafka=address,
            topic_prefix=f"{folder.name}.",
            consumer_group=folder.name,
            session_seconds=6,
            batch_seconds=0.3,
            batch_quiet_seconds=quiet_seconds,
            rest_seconds=1.0,
        )
        self.process: subprocess.Popen[bytes] | None = None
        make_registry(self.settings.registry_url)

    @property
    def run(self) -> Path:
        return self.settings.data / "run"

    @property
    def topic(self) -> str:
        return self.settings.topic("events")

    def start(self, role: str = "worker") -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stream", role, "--name", "worker-1"],
                env={**os.environ, **to_environment(self.settings)},
                stderr=log,
            )
        return self.process

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def manage(self, act: Callable[[AIOKafkaAdminClient], Awaitable[object]]) -> None:
        async def acting() -> None:
            client = AIOKafkaAdminClient(bootstrap_servers=self.settings.kafka)
            await client.start()
            try:
                await act(client)
            finally:
                await client.close()

        asyncio.run(acting())

    def create_topics(self, partitions: int = 1) -> None:
        topics = [NewTopic(self.settings.topic(kind.topic), partitions, 1) for kind in ALL_KINDS]
        self.manage(lambda client: client.create_topics(topics))

    def send(self, *names: str, partition: int = 0, topic: str = "events") -> None:
        """One chunk for each name."""
        self.send_chunks(
            [encode_chunk([encode_envelope(named(name))]) for name in names], partition, topic
        )

    def send_chunks(
        self,
        chunks: Sequence[bytes],
        partition: int = 0,
        topic: str = "events",
        headers: Headers | None = None,
    ) -> None:
        async def sending() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.settings.kafka, max_request_size=4 << 20
            )
            await producer.start()
            try:
                for chunk in chunks:
                    await producer.send_and_wait(
                        self.settings.topic(topic), chunk, partition=partition, headers=headers
                    )
            finally:
                await producer.stop()

        asyncio.run(sending())

    def committed(self) -> int:
        """The offset that the consumer group has committed of the first partition of events."""
        found: list[int] = []

        async def read(client: AIOKafkaAdminClient) -> None:
            offsets = await client.list_consumer_group_offsets(self.settings.consumer_group)
            found.extend(o.offset for tp, o in offsets.items() if tp.topic == self.topic)

        self.manage(read)
        return found[0] if found else 0

    def epochs(self) -> list[tuple[int, int]]:
        return rows(self.settings, EVENTS, "epoch", "kafka_offset")

    def stored(self) -> list[str]:
        if open_table(self.settings.lake_url, EVENTS) is None:
            return []
        return [name for (name,) in rows(self.settings, EVENTS, "name")]
