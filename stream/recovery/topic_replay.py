"""Replay: messages of a past stretch of time are read from Kafka again, as far as it has them.

By a consumer without a group: nobody's offsets move, and no worker is disturbed.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from msgspec import Struct

from schemas.lake.topic_identity import TopicIdentity, TopicIdentityClient
from stream.rows.decoder import KafkaMessage
from stream.runtime.errors import Unreachable

BATCH_BYTES = 32 * 1024 * 1024
BATCH_MESSAGES = 256
IDLE_MS = 10_000
"""After so long without a message nothing more will come."""

HandleBatch = Callable[[Sequence[KafkaMessage]], bool]
"""Told of messages of one topic; answers whether more are wanted."""


class ReplayRange(Struct, frozen=True):
    """What is to be read again: by the time when Kafka took it, and below the next offsets."""

    since_ms: int
    until_ms: int
    end_offsets: Mapping[int, int]
    """By topic partition: the first offset that is not to be read."""


def replay(brokers: str, topic: str, stretch: ReplayRange, take: HandleBatch) -> None:
    """Give all messages of the stretch that Kafka has still; Unreachable without Kafka."""
    try:
        asyncio.run(_replay(brokers, topic, stretch, take))
    except (KafkaError, TimeoutError) as away:
        raise Unreachable(f"Kafka at {brokers} does not answer: {away!r}") from None


def topic_identity(brokers: str, topic: str) -> TopicIdentity | None:
    """Which making of the topic Kafka has; None when it tells none. Unreachable without Kafka."""

    async def asked() -> TopicIdentity | None:
        identities = TopicIdentityClient(brokers)
        try:
            return (await identities.fetch([topic])).get(topic)
        finally:
            await identities.close()

    try:
        return asyncio.run(asked())
    except (KafkaError, TimeoutError) as away:
        raise Unreachable(f"Kafka at {brokers} does not answer: {away!r}") from None


async def _replay(brokers: str, topic: str, stretch: ReplayRange, take: HandleBatch) -> None:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=brokers, enable_auto_commit=False, auto_offset_reset="none"
    )
    await consumer.start()
    try:
        places = [TopicPartition(topic, partition) for partition in sorted(stretch.end_offsets)]
        consumer.assign(places)
        stops = await _seek(consumer, places, stretch)
        while left := [place for place in places if await consumer.position(place) < stops[place]]:
            found = await consumer.getmany(*left, timeout_ms=IDLE_MS, max_records=BATCH_MESSAGES)
            if not found:
                return
            messages = [message for place in left for message in found.get(place, ())]
            arrived = [
                KafkaMessage(m.partition, m.offset, m.timestamp, m.value or b"", lambda: None)
                for m in messages
                if m.offset < stops[TopicPartition(topic, m.partition)]
            ]
            for portion in _portions(arrived):
                if not take(portion):
                    return
    finally:
        await consumer.stop()


async def _seek(
    consumer: AIOKafkaConsumer, places: Sequence[TopicPartition], stretch: ReplayRange
) -> dict[TopicPartition, int]:
    """Stand at the stretch's begin in all partitions; where it ends, by partition."""
    begins = await consumer.beginning_offsets(places)
    since = await consumer.offsets_for_times(dict.fromkeys(places, stretch.since_ms))
    until = await consumer.offsets_for_times(dict.fromkeys(places, stretch.until_ms))
    ends = await consumer.end_offsets(places)
    stops = {}
    for place in places:
        below = min(stretch.end_offsets[place.partition], ends[place])
        first = since[place].offset if since[place] else ends[place]
        consumer.seek(place, max(first, begins[place]))
        stops[place] = min(below, until[place].offset) if until[place] else below
    return stops


def _portions(arrived: Iterable[KafkaMessage]) -> Iterable[Sequence[KafkaMessage]]:
    portion: list[KafkaMessage] = []
    size = 0
    for message in arrived:
        portion.append(message)
        size += len(message.body)
        if size >= BATCH_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion
