"""A small process that waits for backfill messages and then becomes the backfill worker.

Imports are rare, and a worker with its parsers and tables takes five times the memory of a process
that only polls Kafka for new end offsets. After a minute without work the worker replaces itself
(`exec`) by this process: the same pid, so that a supervisor sees one process.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from schemas.kinds import IMPORTED_EVENT
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import (
    Heartbeat,
    PartitionProgress,
    remove_heartbeat,
    write_heartbeat,
)
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.app import Worker

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
STALE_SECONDS = 3.0
POLLS_PER_PARTITION_REFRESH = 10
NICE = 10
NO_POSITIONS = "Kafka tells no positions of the topics: is it away?"
EXIT_OK = 0

EndOffsets = Mapping[int, int]
"""End offset by partition number."""


def run(settings: Settings, name: str, offsets: str) -> int:
    """Wait until there is something to store, then run the worker; 0 when told to stop."""
    os.setpriority(os.PRIO_PROCESS, 0, NICE)  # threads that are started from here on inherit it
    known_offsets = msgspec.json.decode(offsets, type=dict[int, int]) if offsets else None
    if not asyncio.run(_wait_for_backfill(settings, name, known_offsets)):
        return EXIT_OK
    from stream import worker
    from stream.writing.open_writers import BACKFILL

    return worker.run(settings, name, BACKFILL, lambda at: _exec_standby(name, at))


def _exec_standby(name: str, worker: "Worker") -> NoReturn:
    """Replace this process by one that has loaded nothing and waits."""
    offsets = {at.partition: at.next_offset for at in worker.progress.progress()}
    log.info("backfill worker idle", extra={"offsets": offsets})
    logging.shutdown()
    encoded = msgspec.json.encode(offsets).decode()
    command = ("-m", "stream", "backfill", "--name", name, "--level", encoded)
    os.execv(sys.executable, (sys.executable, *command))  # noqa: S606 - ourselves again


async def _wait_for_backfill(
    settings: Settings, name: str, known_offsets: EndOffsets | None
) -> bool:
    """Whether backfill messages arrived before the signal to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    heartbeat = StandbyHeartbeat(settings, name)
    heartbeat_task = asyncio.create_task(heartbeat.run())
    messages_task = asyncio.create_task(_until_messages(settings, heartbeat, known_offsets))
    stop_task = asyncio.create_task(stop.wait())
    await asyncio.wait((messages_task, stop_task), return_when=asyncio.FIRST_COMPLETED)
    stop_task.cancel()
    heartbeat_task.cancel()
    if messages_task.done():
        return messages_task.result()
    messages_task.cancel()
    remove_heartbeat(settings.data / "run", name)
    return False


async def _until_messages(
    settings: Settings, heartbeat: "StandbyHeartbeat", known_offsets: EndOffsets | None
) -> bool:
    while True:
        try:
            return await _poll_end_offsets(settings, heartbeat, known_offsets)
        except KafkaError as error:
            log.info("waiting for kafka", extra={"reason": str(error)})
            await asyncio.sleep(POLL_SECONDS)


async def _poll_end_offsets(
    settings: Settings, heartbeat: "StandbyHeartbeat", known_offsets: EndOffsets | None
) -> bool:
    topic = settings.topic(IMPORTED_EVENT.topic)
    consumer = AIOKafkaConsumer(**client_arguments(settings))
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    try:
        await consumer.start()
        await admin.start()
        partitions: list[TopicPartition] = []
        for poll in range(sys.maxsize):
            if poll % POLLS_PER_PARTITION_REFRESH == 0 or not partitions:
                partitions = await _topic_partitions(admin, topic)
            end_offsets = _by_partition(await consumer.end_offsets(partitions))
            if known_offsets is None and partitions:
                known_offsets = _by_partition(await consumer.beginning_offsets(partitions))
            if known_offsets is not None and any(
                known_offsets.get(p, 0) != end for p, end in end_offsets.items()
            ):
                return True
            heartbeat.report_caught_up(topic, end_offsets)
            await asyncio.sleep(POLL_SECONDS)
        return False
    finally:
        await consumer.stop()
        await admin.close()


async def _topic_partitions(admin: AIOKafkaAdminClient, topic: str) -> list[TopicPartition]:
    described = await admin.describe_topics([topic])
    return [TopicPartition(topic, p["partition"]) for t in described for p in t["partitions"]]


def _by_partition(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {topic_partition.partition: offset for topic_partition, offset in offsets.items()}


class StandbyHeartbeat:
    """The heartbeat of an idle backfill worker, also while it waits for Kafka."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._run = settings.data / "run"
        self._name = name
        self._written_at = time.monotonic()

    def report_caught_up(self, topic: str, end_offsets: EndOffsets) -> None:
        """After a poll without new messages: everything that Kafka has is stored."""
        progress = tuple(
            PartitionProgress(topic, p, end, end) for p, end in sorted(end_offsets.items())
        )
        at = now_ms()
        self._write("ready", at, progress, {topic: at} if progress else {})

    async def run(self) -> None:
        """While no poll succeeds, report that the process is alive and waits for Kafka."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if time.monotonic() - self._written_at > STALE_SECONDS:
                self._write("waiting", now_ms(), (), {}, NO_POSITIONS)

    def _write(
        self,
        state: str,
        at: int,
        progress: tuple[PartitionProgress, ...],
        complete: dict[str, int],
        unready_reason: str = "",
    ) -> None:
        self._written_at = time.monotonic()
        try:
            heartbeat = Heartbeat(
                self._name,
                os.getpid(),
                at,
                state,
                progress,
                complete,
                unready_reason=unready_reason,
            )
            write_heartbeat(self._run, heartbeat)
        except OSError as error:
            log.warning("heartbeat not written", extra={"reason": str(error)})
