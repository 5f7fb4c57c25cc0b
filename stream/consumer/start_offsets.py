"""Finds the offset from which each assigned topic partition is read: the table's next offset."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from aiokafka.errors import KafkaError
from msgspec import Struct

from schemas.lake.topic_identity import TopicIdentity, TopicIdentityClient
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER
from stream.consumer.progress import TopicPartition
from stream.rows.quarantine import OffsetRange
from stream.runtime.errors import OffsetOutOfRange, Unreachable
from stream.storage.delta_commit import LakeTable
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
    settings: Settings,
    writers: Mapping[str, BatchWriter],
    kafka_offsets: KafkaOffsets,
    topic_identities: Mapping[str, TopicIdentity],
) -> dict[TopicPartition, int]:
    """Assign topics and partitions to their writers; returns the start offset of each partition.

    The tables are opened at the same time, because on an object store that is mostly waiting. The
    ledger is opened once and after them: a batch is committed to it before its table.
    """

    def assign(topic: str) -> dict[int, int]:
        partitions = {p: at for (name, p), at in kafka_offsets.items() if name == topic}
        return _assign_writer(writers[topic], partitions, topic_identities.get(topic))

    topics = sorted({topic for topic, _ in kafka_offsets} & writers.keys())
    with ThreadPoolExecutor(len(topics) or 1) as threads:
        next_offsets = dict(zip(topics, threads.map(assign, topics), strict=True))
    ledger = LakeTable(settings, LEDGER)
    for topic, nexts in next_offsets.items():
        writers[topic].catch_up_ledger(ledger, nexts)
    return {
        (topic, p): _start_offset(writers[topic], p, kafka_offsets[topic, p], next_offset)
        for topic, nexts in next_offsets.items()
        for p, next_offset in nexts.items()
    }


def _assign_writer(
    writer: BatchWriter,
    partitions: Mapping[int, PartitionOffsets],
    topic_identity: TopicIdentity | None,
) -> dict[int, int]:
    """The next offset of each partition in the writer's table."""
    writer.assign_topic(topic_identity, {p: at.next for p, at in partitions.items()})
    return writer.assign_partitions(partitions)


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
