"""Requests and chunks fit into the messages of their topic, also when that is changed."""

import asyncio

import pytest

from ingest.publishing.kafka_connection import MAX_MESSAGE_BYTES
from ingest.publishing.partition_queue import (
    DeliveryReport,
    DeliveryStatus,
    InFlightBytes,
    PartitionQueue,
)
from ingest.publishing.producer import FRAMING_BYTES, Topic
from schemas.kafka.request_ids import Headers

CHUNK_BYTES = 262_144


async def deliver(
    _topic: str, _partition: int, _message: bytes, _headers: Headers
) -> DeliveryReport:
    return DeliveryReport(DeliveryStatus.ACKNOWLEDGED)


@pytest.mark.parametrize(
    ("message", "request_bytes", "chunk"),
    [
        (MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES - FRAMING_BYTES, CHUNK_BYTES),
        (1_048_588, 983_052, CHUNK_BYTES),  # the default of Kafka
        (200_000, 134_464, 134_464),
        (50_000, 25_000, 25_000),
    ],
)
def test_limits_follow_the_size_of_messages(message: int, request_bytes: int, chunk: int) -> None:
    async def running() -> None:
        topic = Topic("events", CHUNK_BYTES)
        queue = PartitionQueue("events", 0, deliver, InFlightBytes(1), topic.chunk_bytes, 1.0)
        topic.queues.append(queue)
        topic.limit_messages(message)

        assert (topic.request_bytes, topic.chunk_bytes) == (request_bytes, chunk)
        assert queue.chunk_bytes == chunk

    asyncio.run(running())
