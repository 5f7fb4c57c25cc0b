"""Lag of the tables behind Kafka: end offsets against next offsets, whoever stores or does not.

Heartbeats tell the lag of live workers on one machine only. This is true with any number of
machines, and while no worker is alive.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from msgspec import Struct

from deploy.local.kafka.offsets import table_positions, topic_offsets
from schemas.lake.topic_offsets import UnreadOffsets, read_timestamps, unread_offsets
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings

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
