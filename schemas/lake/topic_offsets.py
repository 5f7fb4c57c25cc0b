"""Offsets of topics in Kafka, and which messages a table does not have yet."""

from collections.abc import Collection, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from msgspec import Struct

from schemas.lake.topic_identity import TopicIdentity, fetch_topic_identities

FETCH_MS = 200

UnreadOffsets = Mapping[TopicPartition, int]
"""First unread offset of each topic partition that has unread messages."""


class TopicOffsets(Struct, frozen=True):
    """A topic's id in Kafka, and the first and end offsets of its partitions."""

    identity: TopicIdentity | None
    first: Mapping[int, int]
    end: Mapping[int, int]


async def read_topic_offsets(
    admin: AIOKafkaAdminClient, consumer: AIOKafkaConsumer, topics: Collection[str]
) -> dict[str, TopicOffsets]:
    """Offsets of the topics that exist; KafkaError when Kafka does not respond."""
    described = await admin.describe_topics(list(topics))
    identities = await fetch_topic_identities(admin._client, topics)
    partitions = {
        topic["topic"]: [
            TopicPartition(topic["topic"], p["partition"]) for p in topic["partitions"]
        ]
        for topic in described
        if topic["partitions"]
    }
    every = [at for of_topic in partitions.values() for at in of_topic]
    if not every:
        return {}
    first, end = await consumer.beginning_offsets(every), await consumer.end_offsets(every)
    return {
        topic: TopicOffsets(
            identities.get(topic),
            {at.partition: first[at] for at in of_topic},
            {at.partition: end[at] for at in of_topic},
        )
        for topic, of_topic in partitions.items()
    }


def unread_offsets(topic: str, kafka: TopicOffsets, stored: Mapping[int, int]) -> UnreadOffsets:
    """Offsets of the first unread messages; partitions without one are missing.

    `stored` has the table's next offset by partition.
    """
    starts = {p: max(stored.get(p, 0), first) for p, first in kafka.first.items()}
    return {
        TopicPartition(topic, partition): start
        for partition, start in starts.items()
        if start < kafka.end[partition]
    }


async def read_timestamps(
    consumer: AIOKafkaConsumer, offsets: UnreadOffsets
) -> Mapping[TopicPartition, int]:
    """Kafka's timestamps of the messages at these offsets; waits until all are read."""
    found: dict[TopicPartition, int] = {}
    consumer.assign(list(offsets))
    for topic_partition, offset in offsets.items():
        consumer.seek(topic_partition, offset)
    try:
        while len(found) < len(offsets):
            for topic_partition, records in (await consumer.getmany(timeout_ms=FETCH_MS)).items():
                found.setdefault(topic_partition, records[0].timestamp)
                consumer.pause(topic_partition)
    finally:
        consumer.unsubscribe()
    return found
