"""Offsets of topics in Kafka, those up to which the tables are complete, and the lag between."""

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.kinds import ALL_KINDS, Kind
from schemas.lake.committed_offsets import app_id, epoch_app_id, identity_app_id
from schemas.lake.delta_table import UnreadableTable
from schemas.lake.topic_offsets import (
    TopicOffsets,
    UnreadOffsets,
    read_timestamps,
    read_topic_offsets,
    unread_offsets,
)
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings


class TablePosition(Struct, frozen=True):
    """The offsets of a topic up to which a table is complete."""

    epoch: int
    """Newest epoch of the topic in the table; 0 without any."""
    known: bool
    """Whether the table was written from a topic with this id."""
    next: Mapping[int, int]
    """Partition → next offset; without partitions that were never read."""

    @property
    def stored(self) -> Mapping[int, int]:
        """The next offsets; none when they are those of a topic that was deleted since."""
        return self.next if self.known or not self.epoch else {}


def table_positions(
    settings: Settings, kafka: Mapping[str, TopicOffsets]
) -> Mapping[str, TablePosition | None]:
    """The position of each topic that Kafka has, read at the same time; None without a table.

    Without the topics whose table cannot be read, which other checks find.
    """

    def read(kind: Kind) -> TablePosition | None:
        return _table_position(settings, kind, kafka[settings.topic(kind.topic)])

    kinds = [kind for kind in ALL_KINDS if settings.topic(kind.topic) in kafka]
    found: dict[str, TablePosition | None] = {}
    with ThreadPoolExecutor(len(ALL_KINDS)) as threads:
        reading = {settings.topic(kind.topic): threads.submit(read, kind) for kind in kinds}
        for topic, position in reading.items():
            with suppress(OSError, UnreadableTable, DeltaError):
                found[topic] = position.result()
    return found


def _table_position(settings: Settings, kind: Kind, kafka: TopicOffsets) -> TablePosition | None:
    from stream.storage.table_reader import TableReader  # with the table format

    table = TableReader.open(settings, kind.table)
    if table is None:
        return None
    topic = settings.topic(kind.topic)
    newest = table.number(epoch_app_id(topic))
    this = identity_app_id(topic, kafka.identity.id) if kafka.identity else epoch_app_id(topic)
    own = table.number(this)
    epoch = own or newest or settings.ingest_epoch
    read = {p: table.number(app_id(epoch, topic, p)) for p in kafka.end}
    return TablePosition(newest, bool(own), {p: offset for p, offset in read.items() if offset})


async def topic_offsets(settings: Settings) -> dict[str, TopicOffsets]:
    """Offsets of every topic that exists; KafkaError when Kafka does not respond."""
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    consumer = AIOKafkaConsumer(**client_arguments(settings))
    try:
        await admin.start()
        await consumer.start()
        names = [settings.topic(kind.topic) for kind in ALL_KINDS]
        return await read_topic_offsets(admin, consumer, names)
    finally:
        await consumer.stop()
        await admin.close()


TIMEOUT_SECONDS = 5.0
"""For each answer of Kafka."""

T = TypeVar("T")


class TopicLag(Struct, frozen=True):
    """What a table does not have yet of its topic."""

    messages: int
    seconds: float
    """Age of the oldest unread message; 0 without any."""


def topic_lags(settings: Settings, now_ms: int) -> Mapping[str, TopicLag]:
    """The lag of each topic; without those whose table cannot be read, empty without Kafka."""
    try:
        kafka = _in_time(topic_offsets(settings))
        unread: dict[TopicPartition, int] = {}
        messages: dict[str, int] = {}
        for topic, position in table_positions(settings, kafka).items():
            of_topic = unread_offsets(topic, kafka[topic], position.stored if position else {})
            unread |= of_topic
            messages[topic] = sum(kafka[topic].end[at.partition] - of_topic[at] for at in of_topic)
        oldest = _in_time(_timestamps(settings, unread))
    except (KafkaError, OSError, TimeoutError):
        return {}
    return {
        topic: TopicLag(count, _seconds(oldest.get(topic, now_ms), now_ms))
        for topic, count in messages.items()
        if not count or topic in oldest
    }


def _in_time(answer: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(answer, TIMEOUT_SECONDS))


async def _timestamps(settings: Settings, unread: UnreadOffsets) -> Mapping[str, int]:
    """Kafka's timestamp of the oldest unread message of each topic."""
    if not unread:
        return {}
    consumer = AIOKafkaConsumer(
        **client_arguments(settings), enable_auto_commit=False, max_partition_fetch_bytes=1024
    )
    await consumer.start()
    try:
        found = await read_timestamps(consumer, unread)
    finally:
        await consumer.stop()
    oldest: dict[str, int] = {}
    for topic_partition, at_ms in found.items():
        oldest[topic_partition.topic] = min(at_ms, oldest.get(topic_partition.topic, at_ms))
    return oldest


def _seconds(oldest_ms: int, now_ms: int) -> float:
    return max(0.0, round((now_ms - oldest_ms) / 1000, 1))
