"""Outbox: chunks to Kafka, acknowledged in time, or refused.

The only file of the collector that knows aiokafka. One idempotent producer at a time; it is made
anew whenever a delivery fails, because a failed one leaves a gap in its sequence numbers, after
which its sender dies and every later send fails.
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
"""What one request may take of a message; Kafka's own share of it is far below the rest."""
CONNECT_TIMEOUT_SECONDS = 5.0
REQUEST_TIMEOUT_MS = 10_000
METADATA_MAX_AGE_MS = 10_000
TOPIC_IDS_INTERVAL_SECONDS = 5.0
RECONNECT_INTERVAL_SECONDS = 1.0
POLL_INTERVAL_SECONDS = 0.25
STALLED_AFTER_SECONDS = 2.0
STOP_TIMEOUT_SECONDS = 2.0

REQUEST_TOO_LARGE = (
    "The items are of too many websites to travel as one message; send fewer of them at once"
)
QUEUE_FULL = "Too much is waiting for Kafka; nothing was taken"
KAFKA_UNAVAILABLE = "Kafka cannot be reached; nothing was taken"

# One line of ours says that Kafka is away; aiokafka would log an error for every attempt.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


class DeliveryCounts(Struct):
    """What happened since the start."""

    acknowledged: int = 0
    failed: int = 0
    producers_replaced: int = 0


class KafkaProducer:
    """Takes sealed requests for the topics, and answers what became of them."""

    def __init__(self, settings: Settings, topics: Iterable[str]) -> None:
        self._brokers = settings.brokers
        self._names = {topic: settings.topic(topic) for topic in topics}
        self._chunk_bytes = settings.chunk_bytes
        self._timeout_seconds = settings.produce_seconds
        self._topic_ids: dict[str, str] = {}
        """Kafka's id of each topic, by its name there."""
        self._topic_ids_read_at = 0.0
        self._in_flight_bytes = InFlightBytes(settings.in_flight_bytes)
        self._queues: dict[str, list[PartitionQueue]] = {topic: [] for topic in self._names}
        self._producer: AIOKafkaProducer | None = None
        self._in_flight: set[asyncio.Future[object]] = set()
        self._broken: asyncio.Event = asyncio.Event()
        self._run_task: asyncio.Task[None] | None = None
        self.disk = DiskFloor(settings)
        self.counts = DeliveryCounts()
        self.unavailable_reason: str | None = "no answer yet"
        """Why nothing is taken; None when all is well."""

    def start(self) -> None:
        """Look for Kafka, for as long as it takes; meanwhile everything is refused."""
        self._run_task = asyncio.get_running_loop().create_task(self._run())
        self._run_task.add_done_callback(_exit_on_error)

    def enqueue(
        self, topic: str, place: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Put one request, whole, into the lane of its place.

        Unavailable or TooLarge before anything is sent; else the answer comes within
        `produce_seconds`.
        """
        size = sum(map(len, envelopes))
        if self.unavailable_reason is not None:
            self.disk.reserve(0)  # a broker without room is away, too: the disk is what to look at
            raise Unavailable(KAFKA_UNAVAILABLE)
        if size > MAX_REQUEST_BYTES:
            raise PayloadTooLarge(REQUEST_TOO_LARGE)
        if not self._in_flight_bytes.fits(size):
            raise Unavailable(QUEUE_FULL, retry_after=1)
        self.disk.reserve(size)
        lanes = self._queues[topic]
        return lanes[place % len(lanes)].enqueue(envelopes, size, items)

    async def close(self, seconds: float) -> None:
        """Send what waits, for at most so long; then let go of Kafka."""
        running = [lane.sender_task for lane in self._all_queues() if lane.sender_task is not None]
        if running:
            _, left = await asyncio.wait(running, timeout=seconds)
            if left:
                log.warning("not acknowledged at the end", extra={"lanes": len(left)})
            for task in left:
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
                self._mark_unavailable(str(error) or "no answer")
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
        """Serve with this producer until it breaks."""
        self._broken.clear()
        self._producer = producer
        log.info("kafka answers", extra={"brokers": self._brokers})
        while not self._broken.is_set():
            oldest = max(
                (lane.unacknowledged_seconds() for lane in self._all_queues()), default=0.0
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
                    # One of several brokers may be away: what was learnt holds, deliveries go on.
                    with suppress(KafkaError, TimeoutError):
                        await self._refresh_topic_ids(producer, RECONNECT_INTERVAL_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._broken.wait(), POLL_INTERVAL_SECONDS)

    async def _refresh_partitions(self, producer: AIOKafkaProducer) -> None:
        """Have a lane for each partition; a topic may grow at any time."""
        for topic, name in self._names.items():
            lanes = self._queues[topic]
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                count = len(await producer.partitions_for(name))
            lanes += [self._new_queue(name, partition) for partition in range(len(lanes), count)]

    async def _refresh_topic_ids(self, producer: AIOKafkaProducer, seconds: float) -> None:
        """Know which making of each topic this is; receipts say it."""
        self._topic_ids_read_at = asyncio.get_running_loop().time()
        async with asyncio.timeout(seconds):
            found = await fetch_topic_identities(producer.client, self._names.values())
        self._topic_ids = {name: identity.id for name, identity in found.items()}

    def _new_queue(self, name: str, partition: int) -> PartitionQueue:
        limits = (self._in_flight_bytes, self._chunk_bytes, self._timeout_seconds)
        return PartitionQueue(name, partition, self._send, *limits)

    async def _send(self, topic: str, partition: int, message: bytes) -> DeliveryReport:
        producer = self._producer
        if producer is None:
            return DeliveryReport(DeliveryStatus.NOT_SENT)
        try:
            delivered = await producer.send(topic, message, partition=partition)
        except KafkaError as error:
            return self._fail(DeliveryStatus.NOT_SENT, error)
        self._in_flight.add(delivered)
        try:
            kept = await delivered
        except KafkaError as error:
            return self._fail(DeliveryStatus.UNKNOWN, error)
        finally:
            self._in_flight.discard(delivered)
        self.counts.acknowledged += 1
        # After a retry Kafka may no longer know the offset of what it has; then it is -1.
        return DeliveryReport(
            DeliveryStatus.ACKNOWLEDGED, partition, kept.offset, self._topic_ids.get(topic, "")
        )

    def _fail(self, outcome: DeliveryStatus, error: KafkaError) -> DeliveryReport:
        self.counts.failed += 1
        self._mark_unavailable(repr(error))
        self._broken.set()
        return DeliveryReport(outcome)

    async def _discard_producer(self, producer: AIOKafkaProducer) -> None:
        self.counts.producers_replaced += 1
        for delivered in self._in_flight:
            if not delivered.done():
                delivered.set_exception(KafkaError("the producer was given up"))
        await stop_producer(producer)

    def _mark_unavailable(self, reason: str) -> None:
        if self.unavailable_reason is None:
            log.warning("kafka away", extra={"reason": reason})
        self.unavailable_reason = reason

    def _all_queues(self) -> Iterable[PartitionQueue]:
        return (lane for lanes in self._queues.values() for lane in lanes)


def _exit_on_error(living: "asyncio.Task[None]") -> None:
    """What nobody foresaw ends the process in order; the supervisor starts another."""
    if not living.cancelled() and (error := living.exception()) is not None:
        log.critical("outbox ended", exc_info=error)
        signal.raise_signal(signal.SIGTERM)


async def stop_producer(producer: AIOKafkaProducer) -> None:
    """Stop a producer, in bounded time; its own `stop` waits for Kafka as long as that is away."""
    try:
        await asyncio.wait_for(producer.stop(), STOP_TIMEOUT_SECONDS)
    except (KafkaError, TimeoutError):
        # It has no public way to end the sender, which would go on trying for ever.
        task = producer._sender.sender_task
        if task is not None:
            task.cancel()
        await producer.client.close()
