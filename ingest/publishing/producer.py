"""KafkaProducer: idempotent aiokafka producer with deadline, circuit breaker and bounded memory.

The only module of the collector that imports aiokafka. There is one idempotent producer at a
time. It is recreated after every failed delivery: a failure leaves a gap in its sequence numbers,
after which its sender task ends and every later send fails.
"""

import asyncio
import logging
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from msgspec import Struct

from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.partition_queue import (
    DeliveryReport,
    DeliveryStatus,
    InFlightBytes,
    PartitionQueue,
    PendingDelivery,
)
from schemas.errors import PayloadTooLarge, Unavailable
from schemas.lake.topic_identity import fetch_topic_identities
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_REQUEST_BYTES = MAX_MESSAGE_BYTES - 64 * 1024
"""Maximum size of one request; the rest of the message is for Kafka's own framing."""
CONNECT_TIMEOUT_SECONDS = 5.0
REQUEST_TIMEOUT_MS = 10_000
METADATA_MAX_AGE_MS = 10_000
TOPIC_IDS_INTERVAL_SECONDS = 5.0
RECONNECT_INTERVAL_SECONDS = 1.0
POLL_INTERVAL_SECONDS = 0.25
STALLED_AFTER_SECONDS = 2.0
STOP_TIMEOUT_SECONDS = 2.0

REQUEST_TOO_LARGE = (
    "The request has items of too many websites for one Kafka message; send fewer at once"
)
QUEUE_FULL = "The Kafka queue is full; nothing was accepted. Retry later"
KAFKA_UNAVAILABLE = "Kafka is unavailable; nothing was accepted. Retry later"


class DeliveryCounts(Struct):
    """Chunks and producers since the start."""

    acknowledged: int = 0
    failed: int = 0
    producers_replaced: int = 0


class KafkaProducer:
    """Sends encoded requests to Kafka in chunks; reports each outcome in bounded time."""

    def __init__(self, settings: Settings, topics: Iterable[str]) -> None:
        self._brokers = settings.brokers
        self._names = {topic: settings.topic(topic) for topic in topics}
        """Names in Kafka, which have the topic prefix, by topic of a kind."""
        self._chunk_bytes = settings.chunk_bytes
        self._timeout_seconds = settings.produce_seconds
        self._topic_ids: dict[str, str] = {}
        """Kafka's topic ids by name in Kafka."""
        self._topic_ids_read_at = 0.0
        self._in_flight_bytes = InFlightBytes(settings.in_flight_bytes)
        self._queues: dict[str, list[PartitionQueue]] = {topic: [] for topic in self._names}
        self._producer: AIOKafkaProducer | None = None
        self._in_flight: set[asyncio.Future[object]] = set()
        self._broken: asyncio.Event = asyncio.Event()
        self._run_task: asyncio.Task[None] | None = None
        self.disk = DiskFloor(settings)
        self.counts = DeliveryCounts()
        self.unavailable_reason: str | None = "not connected yet"
        """Why requests are rejected; None when connected."""

    def start(self) -> None:
        """Connect in the background, with retries; until then all requests are rejected."""
        self._run_task = asyncio.get_running_loop().create_task(self._run())
        self._run_task.add_done_callback(_exit_on_error)

    def enqueue(
        self, topic: str, partition_key: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Put one whole request into the queue of its partition.

        Unavailable or PayloadTooLarge before anything is sent; else the report comes within the
        setting `produce_seconds`.
        """
        size = sum(map(len, envelopes))
        if self.unavailable_reason is not None:
            self.disk.reserve(0)  # a full disk is the more useful error, and may be the cause
            raise Unavailable(KAFKA_UNAVAILABLE)
        if size > MAX_REQUEST_BYTES:
            raise PayloadTooLarge(REQUEST_TOO_LARGE)
        if not self._in_flight_bytes.fits(size):
            raise Unavailable(QUEUE_FULL, retry_after=1)
        self.disk.reserve(size)
        queues = self._queues[topic]
        return queues[partition_key % len(queues)].enqueue(envelopes, size, items)

    async def close(self, seconds: float) -> None:
        """Send what is queued, for at most `seconds`; then disconnect."""
        running = [
            queue.sender_task for queue in self._all_queues() if queue.sender_task is not None
        ]
        if running:
            _, unfinished = await asyncio.wait(running, timeout=seconds)
            if unfinished:
                log.warning(
                    "chunks not acknowledged at shutdown", extra={"partitions": len(unfinished)}
                )
            for task in unfinished:
                task.cancel()
        if self._run_task is not None:
            self._run_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._run_task

    async def _run(self) -> None:
        while True:
            try:
                producer = await self._connect()
            except (KafkaError, OSError, TimeoutError) as error:
                self._mark_unavailable(str(error) or "timeout")
                await asyncio.sleep(RECONNECT_INTERVAL_SECONDS)
                continue
            try:
                await self._watch(producer)
            except (KafkaError, TimeoutError) as error:
                self._mark_unavailable(repr(error))
            finally:
                self._producer = None
                await self._discard_producer(producer)

    async def _connect(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._brokers,
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
            await self._refresh_partitions(producer)
            await self._refresh_topic_ids(producer, CONNECT_TIMEOUT_SECONDS)
        except BaseException:
            await stop_producer(producer)
            raise
        return producer

    async def _watch(self, producer: AIOKafkaProducer) -> None:
        """Serve with this producer until a delivery fails."""
        self._broken.clear()
        self._producer = producer
        log.info("connected to kafka", extra={"brokers": self._brokers})
        while not self._broken.is_set():
            oldest = max(
                (queue.unacknowledged_seconds() for queue in self._all_queues()), default=0.0
            )
            if oldest > STALLED_AFTER_SECONDS:
                self._mark_unavailable("no acknowledgement")
            else:
                self.unavailable_reason = None
                await self._refresh_partitions(producer)
                if (
                    asyncio.get_running_loop().time() - self._topic_ids_read_at
                    > TOPIC_IDS_INTERVAL_SECONDS
                ):
                    # One of several brokers may be down: keep the known ids, deliveries continue.
                    with suppress(KafkaError, TimeoutError):
                        await self._refresh_topic_ids(producer, RECONNECT_INTERVAL_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._broken.wait(), POLL_INTERVAL_SECONDS)

    async def _refresh_partitions(self, producer: AIOKafkaProducer) -> None:
        """Add a queue for each new partition; a topic may get more at any time."""
        for topic, name in self._names.items():
            queues = self._queues[topic]
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                count = len(await producer.partitions_for(name))
            queues += [self._new_queue(name, partition) for partition in range(len(queues), count)]

    async def _refresh_topic_ids(self, producer: AIOKafkaProducer, seconds: float) -> None:
        """Read the topic ids, which are part of every receipt."""
        self._topic_ids_read_at = asyncio.get_running_loop().time()
        async with asyncio.timeout(seconds):
            identities = await fetch_topic_identities(producer.client, self._names.values())
        self._topic_ids = {name: identity.id for name, identity in identities.items()}

    def _new_queue(self, name: str, partition: int) -> PartitionQueue:
        limits = (self._in_flight_bytes, self._chunk_bytes, self._timeout_seconds)
        return PartitionQueue(name, partition, self._send, *limits)

    async def _send(self, name: str, partition: int, message: bytes) -> DeliveryReport:
        producer = self._producer
        if producer is None:
            return DeliveryReport(DeliveryStatus.NOT_SENT)
        try:
            acknowledgement = await producer.send(name, message, partition=partition)
        except KafkaError as error:
            return self._fail(DeliveryStatus.NOT_SENT, error)
        self._in_flight.add(acknowledgement)
        try:
            record = await acknowledgement
        except KafkaError as error:
            return self._fail(DeliveryStatus.UNKNOWN, error)
        finally:
            self._in_flight.discard(acknowledgement)
        self.counts.acknowledged += 1
        # After a retry Kafka may not know the offset of a batch that it has; then it is -1.
        return DeliveryReport(
            DeliveryStatus.ACKNOWLEDGED, partition, record.offset, self._topic_ids.get(name, "")
        )

    def _fail(self, status: DeliveryStatus, error: KafkaError) -> DeliveryReport:
        self.counts.failed += 1
        self._mark_unavailable(repr(error))
        self._broken.set()
        return DeliveryReport(status)

    async def _discard_producer(self, producer: AIOKafkaProducer) -> None:
        self.counts.producers_replaced += 1
        for acknowledgement in self._in_flight:
            if not acknowledgement.done():
                acknowledgement.set_exception(KafkaError("the producer was replaced"))
        await stop_producer(producer)

    def _mark_unavailable(self, reason: str) -> None:
        if self.unavailable_reason is None:
            log.warning("kafka unavailable", extra={"reason": reason})
        self.unavailable_reason = reason

    def _all_queues(self) -> Iterable[PartitionQueue]:
        return (queue for queues in self._queues.values() for queue in queues)


def _exit_on_error(task: "asyncio.Task[None]") -> None:
    """Shut the process down on an unexpected error; the supervisor restarts it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("producer task failed", exc_info=error)
        signal.raise_signal(signal.SIGTERM)


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
