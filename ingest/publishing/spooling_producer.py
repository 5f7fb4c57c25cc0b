"""SpoolingProducer: Kafka, and the spool while a circuit breaker is open; drains it in order.

A request goes to the spool while Kafka is away, and then as long as earlier requests of its slot
wait there: so those of one visitor stay in order. A spooled request that Kafka acknowledged is sent
again only if the collector was killed at that moment; by its idempotency key, or its event ids, it
is then stored once.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.partition_queue import DeliveryStatus, PendingDelivery
from ingest.publishing.producer import KafkaAway, exit_on_error
from ingest.publishing.publish import Producer
from ingest.publishing.spool import Spool, Waiting
from ingest.publishing.spool_file import Slot, SpooledRequest, slot_of
from schemas.envelope import decode_envelope
from schemas.errors import PayloadTooLarge, Unavailable
from schemas.kinds import CLICK, KINDS
from schemas.runtime.clock import Clock, format_instant
from schemas.runtime.request_id import REQUEST_ID
from schemas.spool_deliveries import Delivery
from schemas.telemetry.instruments import ITEMS, SPOOL_REFUSALS, gauge

SPOOLED_TOPICS = frozenset(kind.topic for kind in KINDS)
"""Imports are repeated by their sender."""
KEY_BYTES = 64
"""What the idempotency key adds to an envelope, at most."""
WINDOW_BYTES = 1024 * 1024
"""Spooled requests that are sent before their acknowledgements are awaited."""
MAX_LEFT_BYTES = 8 * 1024 * 1024
"""Requests in memory whose partitions do not acknowledge; those of others go on."""
POLL_SECONDS = 0.25
ADOPT_SECONDS = 10.0
RETRY_AFTER_SECONDS = 30

SPOOL_REFUSES = "Kafka is unavailable, and {reason}; nothing was accepted. Retry later"


class SpoolableProducer(Producer, Protocol):
    """A producer whose requests can be spooled: it raises KafkaAway."""

    disk: DiskFloor

    def check_size(self, topic: str, size: int) -> None:
        """PayloadTooLarge if the topic does not take a request of this size."""


class SpoolingProducer:
    """A producer that accepts requests while Kafka is away."""

    def __init__(
        self, kafka: SpoolableProducer, spool: Spool, counter: AcknowledgedCounter
    ) -> None:
        self._kafka = kafka
        self.spool = spool
        self._counter = counter
        self._waiting: set[Slot] = set()
        """Slots of spooled requests that Kafka does not have."""
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def kafka_problem(self) -> str | None:
        """Why Kafka takes no requests."""
        return self._kafka.unavailable_reason

    @property
    def unavailable_reason(self) -> str | None:
        """Why requests are rejected; None while Kafka or the spool takes them."""
        reason = self._kafka.unavailable_reason
        if reason is None:
            return None
        refusal = self.spool.problem or self.spool.refusal(0)
        return None if refusal is None else f"{reason}; {refusal}"

    @property
    def partition_problem(self) -> str | None:
        return self._kafka.partition_problem

    @property
    def warning(self) -> str | None:
        """How much waits for Kafka, for operators."""
        oldest = self.spool.oldest_ms
        if oldest is None:
            return None
        return (
            f"{self.spool.requests} requests wait in the spool for Kafka, the oldest since "
            f"{format_instant(oldest)}"
        )

    def enqueue(
        self, topic: str, partition_key: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Send a request to Kafka, or spool it; Unavailable or PayloadTooLarge if neither."""
        if topic not in SPOOLED_TOPICS:
            return self._kafka.enqueue(topic, partition_key, envelopes, items)
        if not self._waiting or slot_of(topic, partition_key) not in self._waiting:
            try:
                return self._kafka.enqueue(topic, partition_key, envelopes, items)
            except KafkaAway:
                pass
        size = sum(map(len, envelopes)) + KEY_BYTES * len(envelopes)
        self._kafka.check_size(topic, size)
        if reason := self.spool.refusal(size):
            return self._enqueue_despite(reason, topic, partition_key, envelopes, items)
        self._kafka.disk.reserve(size)
        self._waiting.add(slot_of(topic, partition_key))
        return self.spool.append(topic, partition_key, envelopes, items)

    def _enqueue_despite(
        self,
        reason: str,
        topic: str,
        partition_key: int,
        envelopes: Sequence[bytes],
        items: int,
    ) -> PendingDelivery:
        """Send what the spool refuses before earlier requests: late is worse than out of order."""
        try:
            return self._kafka.enqueue(topic, partition_key, envelopes, items)
        except KafkaAway:
            SPOOL_REFUSALS.inc()
            raise Unavailable(SPOOL_REFUSES.format(reason=reason), RETRY_AFTER_SECONDS) from None

    def start(self) -> None:
        """Deliver in the background what is spooled, also by processes that ended."""
        loop = asyncio.get_running_loop()
        for work in (self._adopt(), self._drain()):
            task = loop.create_task(work)
            task.add_done_callback(exit_on_error)
            self._tasks.append(task)

    async def close(self) -> None:
        """Stop delivering; what is left is for the next process."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.spool.close()

    async def _adopt(self) -> None:
        while True:
            adopted = await self.spool.adopt()
            self._waiting |= adopted  # not in one statement: the set may be another one by now
            await asyncio.sleep(ADOPT_SECONDS)

    async def _drain(self) -> None:
        REQUEST_ID.set("")  # it sends the requests of many
        left: list[Waiting] = []
        while True:
            if not left and not self.spool.has_unread:
                self.spool.changed.clear()
                await self.spool.changed.wait()
            if self._kafka.unavailable_reason is not None:
                await asyncio.sleep(POLL_SECONDS)
                continue
            if sum(waiting.size for waiting in left) < MAX_LEFT_BYTES:
                left += await self.spool.read(WINDOW_BYTES)
            left = await self._deliver(left)
            self.spool.remove_delivered()
            if not self.spool.has_unread:
                # What is being written now may be overtaken by what follows it within milliseconds:
                # under load there is always something, and the spool would never be left.
                self._waiting = {waiting.request.slot for waiting in left}
            if left:
                await asyncio.sleep(POLL_SECONDS)

    async def _deliver(self, requests: Sequence[Waiting]) -> list[Waiting]:
        """Send them; those that Kafka did not acknowledge, in the same order."""
        attempts: list[tuple[Waiting, PendingDelivery | None]] = []
        blocked: set[Slot] = set()
        for waiting in requests:
            slot, delivery = waiting.request.slot, None
            if slot not in blocked:
                try:
                    delivery = self._send(waiting.request)
                except PayloadTooLarge as error:
                    self.spool.set_aside(waiting, str(error))
                    continue
                except Unavailable:
                    blocked.add(slot)
            attempts.append((waiting, delivery))
        delivered: list[tuple[Waiting, Delivery]] = []
        left: list[Waiting] = []
        for waiting, delivery in attempts:
            report = None if delivery is None else await delivery.report
            if report is None or report.status is not DeliveryStatus.ACKNOWLEDGED:
                left.append(waiting)
                continue
            self._count(waiting.request)
            first = 0 if delivery is None else delivery.first_position
            place = Delivery(report.partition, report.offset, first, report.topic_id)
            delivered.append((waiting, place))
        await self.spool.mark_delivered(delivered)
        return left

    def _send(self, request: SpooledRequest) -> PendingDelivery:
        return self._kafka.enqueue(
            request.topic, request.partition_key, request.envelopes, request.items
        )

    def _count(self, request: SpooledRequest) -> None:
        if request.topic == CLICK.topic:  # the acknowledgement of a click is never awaited
            return
        ITEMS.add(request.topic, "acknowledged", request.items)
        for envelope in map(decode_envelope, request.envelopes):
            self._counter.add(
                request.topic, envelope.subject_id, envelope.received_ms, envelope.count
            )


def add_spool_gauges(spool: Spool | None, clock: Clock) -> None:
    """Add the gauges of the spool of this process to its metrics; all 0 without one."""

    def oldest_seconds() -> float:
        oldest = None if spool is None else spool.oldest_ms
        return 0.0 if oldest is None else max(0.0, (clock() - oldest) / 1000)

    gauge(
        "tidemark_spool_bytes",
        "Bytes of spool files, of requests that wait on disk for Kafka",
        lambda: 0 if spool is None else spool.bytes,
    )
    gauge(
        "tidemark_spool_requests",
        "Requests that were answered with success and wait in the spool for Kafka",
        lambda: 0 if spool is None else spool.requests,
    )
    gauge("tidemark_spool_oldest_seconds", "Age of the oldest of these requests", oldest_seconds)
    gauge(
        "tidemark_spool_cut_bytes",
        "Bytes at the end of spool files that a killed process had not written completely",
        lambda: 0 if spool is None else spool.cut_bytes,
    )
    gauge(
        "tidemark_spool_set_aside",
        "Spooled requests that a topic does not take any more; their files are kept for "
        "TIDEMARK_SPOOL_HOURS",
        lambda: 0 if spool is None else spool.requests_set_aside,
    )
    gauge(
        "tidemark_spool_refused_files_removed",
        "Files of such requests that were older than TIDEMARK_SPOOL_HOURS",
        lambda: 0 if spool is None else spool.refused_files_removed,
    )
    gauge(
        "tidemark_spool_damaged_requests",
        "Spooled requests that the disk damaged before Kafka had them; those after them are sent",
        lambda: 0 if spool is None else spool.damaged_requests,
    )
