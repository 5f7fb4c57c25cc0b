"""KafkaConnection: one idempotent aiokafka producer, what is in flight in it, and its topics.

The only module of the collector that imports aiokafka's producer.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.client import ConnectionGroup
from aiokafka.errors import KafkaConnectionError, KafkaError
from aiokafka.producer.sender import Sender
from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.structs import RecordMetadata

from schemas.kafka.connection_problem import explain
from schemas.kafka.request_ids import Headers
from schemas.kafka.topic_configuration import CHECKED, Configuration
from schemas.lake.topic_identity import fetch_topic_identities
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.library_names import require_names
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

DeliveryError = KafkaError
"""A message was not acknowledged."""
CONNECTION_ERRORS = (KafkaError, OSError, TimeoutError)

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
CONNECT_TIMEOUT_SECONDS = 5.0
REQUEST_TIMEOUT_MS = 10_000
METADATA_MAX_AGE_MS = 10_000
PROBE_SECONDS = 1.0
STOP_TIMEOUT_SECONDS = 2.0
RETIRE_SECONDS = 10.0
"""For what is in flight in a producer that was replaced."""

TOPIC = 2
"""Kafka's number of the kind of resource."""


TESTED_AIOKAFKA = "0.14.0"
"""As the locks pin it."""


def check_aiokafka() -> None:
    """UnsupportedLibrary if an attribute is gone that `stop_producer` needs."""
    require_names(
        "aiokafka", TESTED_AIOKAFKA, {AIOKafkaProducer: ["_sender"], Sender: ["sender_task"]}
    )


class KafkaConnection:
    """An idempotent producer with `acks=all`; sends to partitions that the caller chooses."""

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self.producer = producer
        self._in_flight: set[asyncio.Future[RecordMetadata]] = set()

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Connect; one of CONNECTION_ERRORS, with what to do."""
        producer = AIOKafkaProducer(
            **client_arguments(settings),
            acks="all",
            enable_idempotence=True,
            max_batch_size=MAX_MESSAGE_BYTES,
            max_request_size=MAX_MESSAGE_BYTES,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
        )
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                await producer.start()
        except BaseException as error:
            await stop_producer(producer)
            if isinstance(error, KafkaConnectionError):
                raise KafkaConnectionError(await explain(settings, error)) from None
            raise
        return cls(producer)

    async def send(
        self, topic: str, partition: int, message: bytes, headers: Headers
    ) -> "asyncio.Future[RecordMetadata]":
        """Hand a message over; the future is its acknowledgement."""
        acknowledgement: asyncio.Future[RecordMetadata] = await self.producer.send(
            topic, message, partition=partition, headers=headers
        )
        self._in_flight.add(acknowledgement)
        acknowledgement.add_done_callback(self._in_flight.discard)
        return acknowledgement

    async def partition_count(self, topic: str) -> int:
        """Partitions of the topic now; it may get more at any time."""
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            return len(await self.producer.partitions_for(topic))

    async def topic_ids(self, topics: Iterable[str], seconds: float) -> dict[str, str]:
        """Topic ids by name."""
        async with asyncio.timeout(seconds):
            identities = await fetch_topic_identities(self.producer.client, topics)
        return {name: identity.id for name, identity in identities.items()}

    async def configurations(
        self, topics: Iterable[str], seconds: float
    ) -> Mapping[str, Configuration]:
        """The configuration of each topic that this client may read."""
        client = self.producer.client
        request = DescribeConfigsRequest([(TOPIC, topic, list(CHECKED)) for topic in topics])
        async with asyncio.timeout(seconds):
            response = await client.send(client.get_random_node(), request)
        return {
            name: {key: value for key, value, *_ in entries}
            for error, _message, _kind, name, entries in response.resources
            if not error
        }

    async def answers(self) -> bool:
        """Whether any broker responds within a second.

        On connections of their own: a broker reads none that waits for an acknowledgement.
        """
        client = self.producer.client
        request = MetadataRequest([])
        probes = {
            asyncio.ensure_future(
                client.send(broker.nodeId, request, group=ConnectionGroup.COORDINATION)
            )
            for broker in client.cluster.brokers()
        }
        answered = False
        with suppress(TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                for probe in asyncio.as_completed(probes):
                    with suppress(KafkaError, OSError):
                        await probe
                        answered = True
                        break
        for pending in probes:
            pending.cancel()
        await asyncio.gather(*probes, return_exceptions=True)
        return answered

    async def retire(self) -> None:
        """Stop once everything in flight has an outcome, which takes a bounded time."""
        try:
            if self._in_flight:
                await asyncio.wait(set(self._in_flight), timeout=RETIRE_SECONDS)
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Stop now; what is in flight fails."""
        for acknowledgement in list(self._in_flight):
            if not acknowledgement.done():
                acknowledgement.set_exception(KafkaError("the producer was replaced"))
        await stop_producer(self.producer)


async def stop_producer(producer: AIOKafkaProducer) -> None:
    """Stop a producer in bounded time; its own `stop` waits for Kafka without a limit."""
    try:
        await asyncio.wait_for(producer.stop(), STOP_TIMEOUT_SECONDS)
    except (KafkaError, TimeoutError):
        # aiokafka has no public way to end the sender task, which would retry for ever.
        task = producer._sender.sender_task
        if task is not None:
            task.cancel()
        await producer.client.close()
