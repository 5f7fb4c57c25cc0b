"""Finds the offset from which each assigned topic partition is read: the table's next offset."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from aiokafka.errors import KafkaError
from msgspec import Struct

from schemas.lake.topic_identity import TopicIdentity, TopicIdentityClient
from stream.consumer.progress import TopicPartition
from stream.rows.quarantine import OffsetRange
from stream.runtime.errors import OffsetOutOfRange, Unreachable
from stream.writing.batch_writer import BatchWriter

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 5
RETRY_SECONDS = 0.5


class PartitionOffsets(Struct, frozen=True):
    """The messages that Kafka has of a topic partition: offsets first to next - 1."""

    first: int
    next: int


KafkaOffsets = Mapping[TopicPartition, PartitionOffsets]

StartOffsets = Callable[[KafkaOffsets], Awaitable[Mapping[TopicPartition, int]]]
"""The offset from which to read each topic partition, given the offsets that Kafka has of it."""


async def fetch_with_retry(
    client: TopicIdentityClient, topics: Sequence[str]
) -> Mapping[str, TopicIdentity]:
    """The id of each topic; Unreachable when Kafka does not answer."""
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            topic_identities = await client.fetch(topics)
        except KafkaError as error:
            if attempt == MAX_ATTEMPTS:
                raise Unreachable(str(error)) from error
        else:
            is_complete = len(topic_identities) in (0, len(topics))
            if is_complete or attempt == MAX_ATTEMPTS:  # a broker may not know all of them yet
                break
        await asyncio.sleep(RETRY_SECONDS)
    return topic_identities


def assign_writers(
    writers: Mapping[str, BatchWriter],
    kafka_offsets: KafkaOffsets,
    topic_identities: Mapping[str, TopicIdentity],
) -> dict[TopicPartition, int]:
    """Assign topics and partitions to their writers; returns the start offset of each partition."""
    start_offsets: dict[TopicPartition, int] = {}
    for topic, writer in writers.items():
        end_offsets = {
            partition: offsets.next
            for (name, partition), offsets in kafka_offsets.items()
            if name == topic
        }
        if end_offsets:
            writer.assign_topic(topic_identities.get(topic), end_offsets)
        for partition, next_offset in writer.assign_partitions(end_offsets).items():
            offsets = kafka_offsets[topic, partition]
            start_offsets[topic, partition] = _start_offset(writer, partition, offsets, next_offset)
    return start_offsets


def _start_offset(
    writer: BatchWriter, partition: int, kafka_offsets: PartitionOffsets, next_offset: int
) -> int:
    """The table's next offset, or Kafka's first one when messages were deleted up to it."""
    if next_offset > kafka_offsets.next:
        raise OffsetOutOfRange(
            f"Topic {writer.topic} partition {partition} ends at offset {kafka_offsets.next}, but "
            f"the table has stored up to {next_offset}: Kafka lost acknowledged messages, or the "
            "topic was recreated. To read the topic from its beginning, increase "
            "TIDEMARK_INGEST_EPOCH; messages without an eventId that were stored before are "
            "then stored twice."
        )
    if next_offset >= kafka_offsets.first:
        return next_offset
    log.error(
        "messages were deleted from Kafka before they were read",
        extra={
            "topic": writer.topic,
            "partition": partition,
            "from": next_offset,
            "to": kafka_offsets.first,
        },
    )
    writer.add_lost_range(partition, OffsetRange(next_offset, kafka_offsets.first))
    return kafka_offsets.first
