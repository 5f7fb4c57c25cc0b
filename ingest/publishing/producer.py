"""KafkaProducer: partition queues on Kafka, with deadline, circuit breakers and bounded memory.

Each topic partition has a circuit breaker: it is open while its chunk in flight is not acknowledged
for STALLED_AFTER_SECONDS, or after its delivery failed. Others go on. All are open while no broker
responds.

There is one idempotent producer at a time. It is replaced after every failed delivery: a failure
leaves a gap in the sequence numbers of that partition, and its next send would end the producer.
What other partitions have in flight then is finished by the old one.
"""

import asyncio
import logging
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.kafka_connection import (
    CONNECT_TIMEOUT_SECONDS,
    CONNECTION_ERRORS,
    MAX_MESSAGE_BYTES,
    DeliveryError,
    KafkaConnection,
)
from ingest.publishing.partition_queue import (
    DeliveryReport,
    DeliveryStatus,
    InFlightBytes,
    PartitionQueue,
    PendingDelivery,
)
from schemas.errors import PayloadTooLarge, Unavailable
from schemas.kafka.request_ids import Headers
from schemas.kafka.topic_configuration import MESSAGE_SIZE, Configuration, refusal
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import acknowledgement_seconds, chunk_bytes, gauge

FRAMING_BYTES = 64 * 1024
"""Part of a message that is for the framing of chunk and Kafka."""


class Topic:
    """A topic as this collector sends to it."""

    def __init__(self, name: str, chunk_bytes: int) -> None:
        self.name = name
        """Its name in Kafka, which has the topic prefix."""
        self.id = ""
        """Kafka's topic id, if known."""
        self.queues: list[PartitionQueue] = []
        """By partition."""
        self._wanted_chunk_bytes = chunk_bytes
        self.limit_messages(MAX_MESSAGE_BYTES)

    def configure(self, configuration: Configuration) -> None:
        """Respect its configuration in Kafka; DeliveryError if nothing may be sent to it."""
        if problem := refusal(configuration):
            raise DeliveryError(f"topic {self.name} {problem}")
        message_bytes = int(configuration.get(MESSAGE_SIZE, MAX_MESSAGE_BYTES))
        self.limit_messages(min(message_bytes, MAX_MESSAGE_BYTES))

    def limit_messages(self, message_bytes: int) -> None:
        """Let requests and chunks fit into messages of so many bytes, from now on."""
        self.request_bytes = max(message_bytes - FRAMING_BYTES, message_bytes // 2)
        """Maximum size of one request."""
        self.chunk_bytes = min(self._wanted_chunk_bytes, self.request_bytes)
        """Bytes after which a chunk takes no more requests."""
        for queue in self.queues:
            queue.chunk_bytes = self.chunk_bytes


log = logging.getLogger(__name__)

TOPICS_INTERVAL_SECONDS = 5.0
RECONNECT_INTERVAL_SECONDS = 1.0
POLL_INTERVAL_SECONDS = 0.25
SUSPECTED_AFTER_SECONDS = 1.0
"""Without an acknowledgement for so long, we ask whether any broker responds."""
STALLED_AFTER_SECONDS = 2.0

REQUEST_TOO_LARGE = (
    "The request takes {size:,} bytes in Kafka, where topic '{topic}' accepts {limit:,}; "
    "send fewer items, or items of fewer websites, at once"
)
QUEUE_FULL = "The Kafka queue is full; nothing was accepted. Retry later"
KAFKA_UNAVAILABLE = "Kafka is unavailable; nothing was accepted. Retry later"
PARTITION_UNAVAILABLE = (
    "Kafka does not acknowledge in the topic partition of this request; nothing was accepted. "
    "Retry later"
)


class KafkaAway(Unavailable):
    """A circuit breaker is open: nothing was sent."""


class DeliveryCounts(Struct):
    """Chunks and producers since the start."""

    acknowledged: int = 0
    failed: int = 0
    producers_replaced: int = 0


class KafkaProducer:
    """Sends encoded requests to Kafka in chunks; reports each outcome in bounded time."""

    def __init__(self, settings: Settings, topics: Iterable[str]) -> None:
        self._settings = settings
        self._topics = {
            topic: Topic(settings.topic(topic), settings.chunk_bytes) for topic in topics
        }
        """By topic of a kind."""
        self._by_name = {topic.name: topic for topic in self._topics.values()}
        self._topics_read_at = 0.0
        self.in_flight = InFlightBytes(settings.in_flight_bytes)
        self._connection: KafkaConnection | None = None
        self._broken = asyncio.Event()
        self._run_task: asyncio.Task[None] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self.disk = DiskFloor(settings)
        self.counts = DeliveryCounts()
        self.unavailable_reason: str | None = "not connected yet"
        """Why all requests are rejected; None when connected."""

    def start(self) -> None:
        """Connect in the background, with retries; until then all requests are rejected."""
        self._run_task = asyncio.get_running_loop().create_task(self._run())
        self._run_task.add_done_callback(exit_on_error)

    @property
    def partition_problem(self) -> str | None:
        """How many topic partitions reject requests; None when none does."""
        queues = list(self.queues())
        closed = sum(queue.rejects_requests for queue in queues)
        return f"{closed} of {len(queues)} topic partitions do not acknowledge" if closed else None

    def enqueue(
        self, topic: str, partition_key: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Put one whole request into the queue of its partition.

        Unavailable or PayloadTooLarge before anything is sent; else the report comes within the
        setting `produce_seconds`. KafkaAway while a circuit breaker is open.
        """
        size = sum(map(len, envelopes))
        if self.unavailable_reason is not None:
            self.disk.reserve(0)  # a full disk is the more useful error, and may be the cause
            raise KafkaAway(KAFKA_UNAVAILABLE)
        target = self._topics[topic]
        queue = target.queues[partition_key % len(target.queues)]
        if queue.rejects_requests:
            raise KafkaAway(PARTITION_UNAVAILABLE)
        self.check_size(topic, size)
        if not self.in_flight.fits(size):
            raise Unavailable(QUEUE_FULL, retry_after=1)
        self.disk.reserve(size)
        return queue.enqueue(envelopes, size, items)

    def check_size(self, topic: str, size: int) -> None:
        """PayloadTooLarge if the topic does not take a request of this size."""
        target = self._topics[topic]
        if size > target.request_bytes:
            raise PayloadTooLarge(
                REQUEST_TOO_LARGE.format(size=size, topic=target.name, limit=target.request_bytes)
            )

    async def close(self, seconds: float) -> None:
        """Send what is queued, for at most `seconds`; then disconnect."""
        running = [queue.sender_task for queue in self.queues() if queue.sender_task is not None]
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
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while True:
                try:
                    connection = await self._connect()
                except CONNECTION_ERRORS as error:
                    self._mark_unavailable(str(error) or "timeout")
                    await asyncio.sleep(RECONNECT_INTERVAL_SECONDS)
                    continue
                self._use(connection)
                try:
                    await self._watch(connection)
                except CONNECTION_ERRORS as error:
                    self._mark_unavailable(repr(error))
        finally:
            if self._connection is not None:
                await self._connection.stop()

    async def _connect(self) -> KafkaConnection:
        connection = await KafkaConnection.open(self._settings)
        try:
            await self._read_topics(connection, CONNECT_TIMEOUT_SECONDS)
            await self._refresh_partitions(connection)
        except BaseException:
            await connection.stop()
            raise
        return connection

    def _use(self, connection: KafkaConnection) -> None:
        """Send with this connection; the one before finishes what it has in flight."""
        previous, self._connection = self._connection, connection
        self._broken.clear()
        for queue in self.queues():
            queue.failed = False
        if previous is not None:
            self.counts.producers_replaced += 1
            task = asyncio.get_running_loop().create_task(previous.retire())
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)
        log.info("connected to kafka", extra={"brokers": self._settings.brokers})

    async def _watch(self, connection: KafkaConnection) -> None:
        """Open and close the circuit breakers until a delivery fails."""
        while not self._broken.is_set():
            suspected = self._find_stalled() > SUSPECTED_AFTER_SECONDS
            if suspected and not await connection.answers():
                self._mark_unavailable("no broker responds")
            else:
                self._mark_available()
                await self._refresh_partitions(connection)
                overdue = self._now() - self._topics_read_at > TOPICS_INTERVAL_SECONDS
                if overdue and not suspected:
                    # One of several brokers may be down: keep what is known, deliveries continue.
                    with suppress(*CONNECTION_ERRORS):
                        await self._read_topics(connection, RECONNECT_INTERVAL_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._broken.wait(), POLL_INTERVAL_SECONDS)

    def _find_stalled(self) -> float:
        """Set the breaker of each partition; the longest wait for an acknowledgement."""
        longest = 0.0
        for queue in self.queues():
            seconds = queue.unacknowledged_seconds()
            longest = max(longest, seconds)
            stalled = seconds > STALLED_AFTER_SECONDS
            if stalled and not queue.stalled:
                log.warning("topic partition does not acknowledge", extra={"partition": str(queue)})
            queue.stalled = stalled
        return longest

    async def _refresh_partitions(self, connection: KafkaConnection) -> None:
        """Add a queue for each new partition; a topic may get more at any time."""
        for topic in self._topics.values():
            count = await connection.partition_count(topic.name)
            for number in range(len(topic.queues), count):
                topic.queues.append(self._new_queue(topic, number))

    async def _read_topics(self, connection: KafkaConnection, seconds: float) -> None:
        """Read the topic ids, which are part of every receipt, and what a message may have."""
        self._topics_read_at = self._now()
        for name, topic_id in (await connection.topic_ids(self._by_name, seconds)).items():
            self._by_name[name].id = topic_id
        for name, found in (await connection.configurations(self._by_name, seconds)).items():
            self._by_name[name].configure(found)

    def _new_queue(self, topic: Topic, partition: int) -> PartitionQueue:
        return PartitionQueue(
            topic.name,
            partition,
            self._send,
            self.in_flight,
            topic.chunk_bytes,
            self._settings.produce_seconds,
        )

    async def _send(
        self, name: str, partition: int, message: bytes, headers: Headers
    ) -> DeliveryReport:
        topic, connection = self._by_name[name], self._connection
        queue = topic.queues[partition]
        if connection is None or queue.failed:
            return DeliveryReport(DeliveryStatus.NOT_SENT)
        began = self._now()
        try:
            acknowledgement = await connection.send(name, partition, message, headers)
        except DeliveryError as error:
            return self._fail(connection, queue, DeliveryStatus.NOT_SENT, error)
        try:
            record = await acknowledgement
        except DeliveryError as error:
            return self._fail(connection, queue, DeliveryStatus.UNKNOWN, error)
        self.counts.acknowledged += 1
        acknowledgement_seconds(name).observe(self._now() - began)
        chunk_bytes(name).observe(len(message))
        # After a retry Kafka may not know the offset of a batch that it has; then it is -1.
        return DeliveryReport(DeliveryStatus.ACKNOWLEDGED, partition, record.offset, topic.id)

    def _fail(
        self,
        connection: KafkaConnection,
        queue: PartitionQueue,
        status: DeliveryStatus,
        error: DeliveryError,
    ) -> DeliveryReport:
        self.counts.failed += 1
        log.warning("delivery failed", extra={"partition": str(queue), "reason": repr(error)})
        if connection is self._connection:  # else it was replaced already
            queue.failed = True
            self._broken.set()
        return DeliveryReport(status)

    def _mark_unavailable(self, reason: str) -> None:
        if self.unavailable_reason is None:
            log.warning("kafka unavailable", extra={"reason": reason})
        self.unavailable_reason = reason

    def _mark_available(self) -> None:
        if self.unavailable_reason is not None:
            log.warning("kafka available", extra={"before": self.unavailable_reason})
        self.unavailable_reason = None

    def queues(self) -> Iterable[PartitionQueue]:
        return (queue for topic in self._topics.values() for queue in topic.queues)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def exit_on_error(task: "asyncio.Task[None]") -> None:
    """Shut the process down on an unexpected error; the supervisor restarts it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("task of the producer failed", exc_info=error)
        signal.raise_signal(signal.SIGTERM)


def add_producer_gauges(producer: KafkaProducer) -> None:
    """Add the gauges of the one producer of this process to its metrics."""

    def rejecting() -> int:
        queues = list(producer.queues())
        return (
            len(queues) if producer.unavailable_reason else sum(q.rejects_requests for q in queues)
        )

    gauge(
        "tidemark_in_flight_bytes",
        "Bytes that are queued for Kafka or sent, and not acknowledged",
        lambda: producer.in_flight.bytes,
    )
    gauge(
        "tidemark_rejecting_partitions",
        "Topic partitions that reject requests, because Kafka does not acknowledge",
        rejecting,
    )
    gauge(
        "tidemark_kafka_available",
        "1 while a Kafka broker responds to this collector",
        lambda: producer.unavailable_reason is None,
    )
    gauge(
        "tidemark_producers_replaced",
        "Kafka connections that were replaced after a failed delivery",
        lambda: producer.counts.producers_replaced,
    )
