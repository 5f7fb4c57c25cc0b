"""The backfill worker at rest: a small process that becomes a worker when there is history.

Imports are rare, and a worker with its parsers and tables takes five times the memory of one that
only asks Kafka now and then whether something came. With nothing to do for a minute the worker
starts this process anew in its place: the same pid, so that a supervisor sees one.
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
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.app import Worker

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
STALE_SECONDS = 3.0
POLLS_PER_PARTITION_REFRESH = 10
NICE = 10
EXIT_OK = 0

EndOffsets = Mapping[int, int]
"""By topic partition."""


def run(settings: Settings, name: str, level: str) -> int:
    """Rest until there is something to store, then work; 0 when told to stop."""
    os.setpriority(os.PRIO_PROCESS, 0, NICE)  # threads that are made from here on inherit it
    known = msgspec.json.decode(level, type=dict[int, int]) if level else None
    if not asyncio.run(_wait_for_backfill(settings, name, known)):
        return EXIT_OK
    from stream import worker
    from stream.writing.worker_roles import BACKFILL

    return worker.run(settings, name, BACKFILL, lambda at: _exec_standby(name, at))


def _exec_standby(name: str, worker: "Worker") -> NoReturn:
    """Rest, in a process that has loaded nothing."""
    level = {at.partition: at.next_offset for at in worker.progress.progress()}
    log.info("backfill rests", extra={"level": level})
    logging.shutdown()
    text = msgspec.json.encode(level).decode()
    command = ("-m", "stream", "backfill", "--name", name, "--level", text)
    os.execv(sys.executable, (sys.executable, *command))  # noqa: S606 - ourselves again


async def _wait_for_backfill(settings: Settings, name: str, known: EndOffsets | None) -> bool:
    """Whether something came, before the stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    heartbeat = StandbyHeartbeat(settings, name)
    beating = asyncio.create_task(heartbeat.run())
    coming = asyncio.create_task(_until_messages(settings, heartbeat, known))
    told = asyncio.create_task(stop.wait())
    await asyncio.wait((coming, told), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    beating.cancel()
    if coming.done():
        return coming.result()
    coming.cancel()
    remove_heartbeat(settings.data / "run", name)
    return False


async def _until_messages(
    settings: Settings, heart: "StandbyHeartbeat", known: EndOffsets | None
) -> bool:
    while True:
        try:
            return await _poll_end_offsets(settings, heart, known)
        except KafkaError as away:
            log.info("waiting for kafka", extra={"reason": str(away)})
            await asyncio.sleep(POLL_SECONDS)


async def _poll_end_offsets(
    settings: Settings, heart: "StandbyHeartbeat", known: EndOffsets | None
) -> bool:
    topic = settings.topic(IMPORTED_EVENT.topic)
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.brokers)
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.brokers)
    try:
        await consumer.start()
        await admin.start()
        places: list[TopicPartition] = []
        for look in range(sys.maxsize):
            if look % POLLS_PER_PARTITION_REFRESH == 0 or not places:
                places = await _topic_partitions(admin, topic)
            ends = _by_partition(await consumer.end_offsets(places))
            if known is None and places:
                known = _by_partition(await consumer.beginning_offsets(places))
            if known is not None and any(known.get(p, 0) != end for p, end in ends.items()):
                return True
            heart.report_caught_up(topic, ends)
            await asyncio.sleep(POLL_SECONDS)
        return False
    finally:
        await consumer.stop()
        await admin.close()


async def _topic_partitions(admin: AIOKafkaAdminClient, topic: str) -> list[TopicPartition]:
    described = await admin.describe_topics([topic])
    return [TopicPartition(topic, p["partition"]) for t in described for p in t["partitions"]]


def _by_partition(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {place.partition: offset for place, offset in offsets.items()}


class StandbyHeartbeat:
    """What a worker that rests says of itself, also while it waits for Kafka."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._run = settings.data / "run"
        self._name = name
        self._written_at = time.monotonic()

    def report_caught_up(self, topic: str, ends: EndOffsets) -> None:
        """It has looked: with nothing to do, it is level with Kafka."""
        progress = tuple(PartitionProgress(topic, p, end, end) for p, end in sorted(ends.items()))
        at = now_ms()
        self._write("ready", at, progress, {topic: at} if progress else {})

    async def run(self) -> None:
        """While no look succeeds, say that it lives and waits."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if time.monotonic() - self._written_at > STALE_SECONDS:
                self._write("waiting", now_ms(), (), {})

    def _write(
        self, state: str, at: int, progress: tuple[PartitionProgress, ...], complete: dict[str, int]
    ) -> None:
        self._written_at = time.monotonic()
        try:
            write_heartbeat(
                self._run, Heartbeat(self._name, os.getpid(), at, state, progress, complete)
            )
        except OSError as full:
            log.warning("no pulse", extra={"reason": str(full)})
