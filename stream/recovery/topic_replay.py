"""Reads messages of a topic again, by time or one by one, and sends single ones.

There is no consumer group: no committed offset moves and no worker is rebalanced.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from msgspec import Struct

from schemas.lake.topic_identity import TopicIdentity, TopicIdentityClient
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings
from stream.rows.kafka_message import KafkaMessage, open_message
from stream.runtime.errors import Unreachable

BATCH_BYTES = 32 * 1024 * 1024
BATCH_MESSAGES = 256
IDLE_MS = 10_000
"""After so long without a message the replay ends."""

HandleBatch = Callable[[Sequence[KafkaMessage]], bool]
"""Called with messages of one topic; returns whether more are wanted."""


class ReplayRange(Struct, frozen=True):
    """Which messages to read again: by Kafka's timestamp, and below the next offsets."""

    since_ms: int
    until_ms: int
    end_offsets: Mapping[int, int]
    """Offsets at which reading ends (excluded), by partition."""


def replay(settings: Settings, topic: str, replay_range: ReplayRange, handle: HandleBatch) -> None:
    """Call `handle` with the messages that Kafka still has; Unreachable without Kafka."""
    try:
        asyncio.run(_replay(settings, topic, replay_range, handle))
    except (KafkaError, TimeoutError) as error:
        raise Unreachable(f"Kafka at {settings.brokers} does not answer: {error!r}") from None


def topic_identity(settings: Settings, topic: str) -> TopicIdentity | None:
    """The topic id in Kafka; None when Kafka reports none. Unreachable without Kafka."""

    async def fetch() -> TopicIdentity | None:
        client = TopicIdentityClient(settings)
        try:
            return (await client.fetch([topic])).get(topic)
        finally:
            await client.close()

    try:
        return asyncio.run(fetch())
    except (KafkaError, TimeoutError) as error:
        raise Unreachable(f"Kafka at {settings.brokers} does not answer: {error!r}") from None


def send_messages(settings: Settings, topic: str, messages: Sequence[tuple[int, bytes]]) -> None:
    """Send messages to their partitions, until Kafka has all; Unreachable when it does not.

    A topic that was made anew with fewer partitions takes each always in the same one of them.
    """
    try:
        asyncio.run(_send(settings, topic, messages))
    except (KafkaError, TimeoutError) as error:
        raise Unreachable(f"Kafka at {settings.brokers} does not answer: {error!r}") from None


async def _send(settings: Settings, topic: str, messages: Sequence[tuple[int, bytes]]) -> None:
    producer = AIOKafkaProducer(
        **client_arguments(settings), acks="all", enable_idempotence=True, request_timeout_ms=10_000
    )
    await producer.start()
    try:
        count = len(await producer.partitions_for(topic))
        await asyncio.gather(
            *[
                await producer.send(topic, message, partition=partition % count)
                for partition, message in messages
            ]
        )
    finally:
        await producer.stop()


def messages_at(
    settings: Settings, topic: str, positions: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], KafkaMessage]:
    """The messages at these partitions and offsets that Kafka still has; Unreachable without it."""
    try:
        return asyncio.run(_messages_at(settings, topic, sorted(set(positions))))
    except (KafkaError, TimeoutError) as error:
        raise Unreachable(f"Kafka at {settings.brokers} does not answer: {error!r}") from None


async def _messages_at(
    settings: Settings, topic: str, positions: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], KafkaMessage]:
    consumer = AIOKafkaConsumer(
        **client_arguments(settings), enable_auto_commit=False, auto_offset_reset="none"
    )
    await consumer.start()
    try:
        existing = await _partitions(settings, topic)
        positions = [(number, offset) for number, offset in positions if number in existing]
        partitions = [TopicPartition(topic, number) for number in sorted(dict(positions))]
        if not partitions:
            return {}
        consumer.assign(partitions)
        firsts = await consumer.beginning_offsets(partitions)
        ends = await consumer.end_offsets(partitions)
        messages = {}
        for number, offset in positions:
            at = TopicPartition(topic, number)
            if firsts[at] <= offset < ends[at]:
                consumer.seek(at, offset)
                async with asyncio.timeout(IDLE_MS / 1000):
                    record = await consumer.getone(at)
                if record.offset == offset:
                    body = record.value or b""
                    messages[number, offset] = open_message(number, offset, record.timestamp, body)
        return messages
    finally:
        await consumer.stop()


async def _partitions(settings: Settings, topic: str) -> set[int]:
    """The partitions of a topic; none if it does not exist."""
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    await admin.start()
    try:
        [described] = await admin.describe_topics([topic])
    finally:
        await admin.close()
    return {partition["partition"] for partition in described["partitions"]}


async def _replay(
    settings: Settings, topic: str, replay_range: ReplayRange, handle: HandleBatch
) -> None:
    consumer = AIOKafkaConsumer(
        **client_arguments(settings), enable_auto_commit=False, auto_offset_reset="none"
    )
    await consumer.start()
    try:
        partitions = [
            TopicPartition(topic, partition) for partition in sorted(replay_range.end_offsets)
        ]
        consumer.assign(partitions)
        end_offsets = await _seek(consumer, partitions, replay_range)
        while unread := [
            partition
            for partition in partitions
            if await consumer.position(partition) < end_offsets[partition]
        ]:
            records = await consumer.getmany(
                *unread, timeout_ms=IDLE_MS, max_records=BATCH_MESSAGES
            )
            if not records:
                return
            messages = [
                open_message(m.partition, m.offset, m.timestamp, m.value or b"")
                for partition in unread
                for m in records.get(partition, ())
                if m.offset < end_offsets[TopicPartition(topic, m.partition)]
            ]
            for batch in _split_by_size(messages):
                if not handle(batch):
                    return
    finally:
        await consumer.stop()


async def _seek(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition], replay_range: ReplayRange
) -> dict[TopicPartition, int]:
    """Seek to the start of the range in all partitions; returns its end offset by partition."""
    log_starts = await consumer.beginning_offsets(partitions)
    since = await consumer.offsets_for_times(dict.fromkeys(partitions, replay_range.since_ms))
    until = await consumer.offsets_for_times(dict.fromkeys(partitions, replay_range.until_ms))
    log_ends = await consumer.end_offsets(partitions)
    end_offsets = {}
    for partition in partitions:
        end = min(replay_range.end_offsets[partition.partition], log_ends[partition])
        first = since[partition].offset if since[partition] else log_ends[partition]
        consumer.seek(partition, max(first, log_starts[partition]))
        end_offsets[partition] = min(end, until[partition].offset) if until[partition] else end
    return end_offsets


def _split_by_size(messages: Iterable[KafkaMessage]) -> Iterable[Sequence[KafkaMessage]]:
    batch: list[KafkaMessage] = []
    size = 0
    for message in messages:
        batch.append(message)
        size += message.size
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
