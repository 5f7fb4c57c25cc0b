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

from schemas.kinds import HISTORY
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import Progress, Pulse, remove_pulse, write_pulse
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.app import Worker

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
WAITING_SECONDS = 3.0
PARTITIONS_EVERY = 10
NICE = 10
ORDERLY = 0

Offsets = Mapping[int, int]
"""By topic partition."""


def run(settings: Settings, name: str, level: str) -> int:
    """Rest until there is something to store, then work; 0 when told to stop."""
    os.setpriority(os.PRIO_PROCESS, 0, NICE)  # threads that are made from here on inherit it
    known = msgspec.json.decode(level, type=dict[int, int]) if level else None
    if not asyncio.run(_rest(settings, name, known)):
        return ORDERLY
    from stream import worker
    from stream.writing.worker_roles import BACKFILL

    return worker.run(settings, name, BACKFILL, lambda at: _leave(name, at))


def _leave(name: str, worker: "Worker") -> NoReturn:
    """Rest, in a process that has loaded nothing."""
    level = {at.partition: at.next_offset for at in worker.journal.progress()}
    log.info("backfill rests", extra={"level": level})
    logging.shutdown()
    text = msgspec.json.encode(level).decode()
    command = ("-m", "stream", "backfill", "--name", name, "--level", text)
    os.execv(sys.executable, (sys.executable, *command))  # noqa: S606 - ourselves again


async def _rest(settings: Settings, name: str, known: Offsets | None) -> bool:
    """Whether something came, before the stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    heartbeat = Heartbeat(settings, name)
    beating = asyncio.create_task(heartbeat.go_on())
    coming = asyncio.create_task(_until_something(settings, heartbeat, known))
    told = asyncio.create_task(stop.wait())
    await asyncio.wait((coming, told), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    beating.cancel()
    if coming.done():
        return coming.result()
    coming.cancel()
    remove_pulse(settings.data / "run", name)
    return False


async def _until_something(settings: Settings, heart: "Heartbeat", known: Offsets | None) -> bool:
    while True:
        try:
            return await _watch(settings, heart, known)
        except KafkaError as away:
            log.info("waiting for kafka", extra={"reason": str(away)})
            await asyncio.sleep(LOOK_SECONDS)


async def _watch(settings: Settings, heart: "Heartbeat", known: Offsets | None) -> bool:
    topic = settings.topic(HISTORY.topic)
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.brokers)
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.brokers)
    try:
        await consumer.start()
        await admin.start()
        places: list[TopicPartition] = []
        for look in range(sys.maxsize):
            if look % PARTITIONS_EVERY == 0 or not places:
                places = await _places(admin, topic)
            ends = _by_partition(await consumer.end_offsets(places))
            if known is None and places:
                known = _by_partition(await consumer.beginning_offsets(places))
            if known is not None and any(known.get(p, 0) != end for p, end in ends.items()):
                return True
            heart.level(topic, ends)
            await asyncio.sleep(LOOK_SECONDS)
        return False
    finally:
        await consumer.stop()
        await admin.close()


async def _places(admin: AIOKafkaAdminClient, topic: str) -> list[TopicPartition]:
    described = await admin.describe_topics([topic])
    return [TopicPartition(topic, p["partition"]) for t in described for p in t["partitions"]]


def _by_partition(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {place.partition: offset for place, offset in offsets.items()}


class Heartbeat:
    """What a worker that rests says of itself, also while it waits for Kafka."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._run = settings.data / "run"
        self._name = name
        self._said = time.monotonic()

    def level(self, topic: str, ends: Offsets) -> None:
        """It has looked: with nothing to do, it is level with Kafka."""
        progress = tuple(Progress(topic, p, end, end) for p, end in sorted(ends.items()))
        at = now_ms()
        self._write("ready", at, progress, {topic: at} if progress else {})

    async def go_on(self) -> None:
        """While no look succeeds, say that it lives and waits."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if time.monotonic() - self._said > WAITING_SECONDS:
                self._write("waiting", now_ms(), (), {})

    def _write(
        self, state: str, at: int, progress: tuple[Progress, ...], complete: dict[str, int]
    ) -> None:
        self._said = time.monotonic()
        try:
            write_pulse(self._run, Pulse(self._name, os.getpid(), at, state, progress, complete))
        except OSError as full:
            log.warning("no pulse", extra={"reason": str(full)})
