"""PartitionQueue: gathers requests for one topic partition into chunks, one in flight at a time.

Requests that arrive while a chunk is in flight go into the next one. So the acknowledgements of
Kafka set the pace: an idle queue sends at once, a busy one sends fuller chunks.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto

from msgspec import Struct

from schemas.envelope import encode_chunk
from schemas.kafka.request_ids import MAX_IDS, Headers, request_id_headers
from schemas.kafka.trace_headers import MAX_REQUESTS, trace_headers
from schemas.runtime.request_id import REQUEST_ID
from schemas.telemetry.spans import CURRENT_SPAN, Attributes, Span, Traces


class ChunkTrace:
    """The requests of one chunk that are recorded; the first MAX_REQUESTS of them by name."""

    def __init__(self) -> None:
        self._requests: list[Span] = []
        self._recorded = 0
        self._span: Span | None = None

    def add(self, request: Span) -> None:
        """A request of the chunk, whose span is running."""
        self._recorded += 1
        if len(self._requests) < MAX_REQUESTS:
            self._requests.append(request)

    def begin(self, topic_partition: str, items: int, size: int) -> Headers:
        """Begin the span below that of the first request; the headers that name all."""
        links = [request.traceparent for request in self._requests]
        attributes: Attributes = {
            "messaging.system": "kafka",
            "messaging.destination.name": topic_partition.rpartition("/")[0],
            "messaging.destination.partition.id": topic_partition.rpartition("/")[2],
            "messaging.message.body.size": size,
            "tidemark.items": items,
            "tidemark.requests.recorded": self._recorded,
        }
        self._span = self._requests[0].child("produce", attributes, links, sends=True)
        return trace_headers(self._span.traceparent, links)

    def end(self, outcome: str, offset: int) -> None:
        """End it with what became of the message, and its offset where Kafka told one."""
        if self._span is not None:
            self._span.note({"tidemark.outcome": outcome, "messaging.kafka.offset": offset})
            self._span.end("" if outcome == "acknowledged" else outcome)


def trace_request(trace: ChunkTrace | None, items: int) -> ChunkTrace | None:
    """The trace of a chunk with the current request, if that is recorded."""
    request = CURRENT_SPAN.get()
    if request is None:
        return trace
    request.count("tidemark.items", items)
    trace = trace or ChunkTrace()
    trace.add(request)
    return trace


LINGER_SECONDS = 0.003
"""Pause of a busy queue between an acknowledgement and the next chunk.

In it the senders of the last chunk send their next requests. Without it two groups of senders
alternate with half-full chunks: a tenth more CPU per request, and no less latency.
"""


class DeliveryStatus(Enum):
    """Outcome of a request that was put into a queue."""

    ACKNOWLEDGED = auto()
    NOT_SENT = auto()
    """Never sent; a retry cannot duplicate it."""
    UNKNOWN = auto()
    """Sent, and not acknowledged in time."""
    SPOOLED = auto()
    """On the collector's disk, until Kafka is back."""


UNKNOWN_OFFSET = -1


class DeliveryReport(Struct, frozen=True, gc=False):
    """Outcome of a chunk, and its partition and offset if acknowledged."""

    status: DeliveryStatus
    partition: int = 0
    offset: int = UNKNOWN_OFFSET
    topic_id: str = ""
    """Kafka's topic id, if known."""


class PendingDelivery(Struct, frozen=True):
    """One request in a chunk: the pending report, and the position of its first item."""

    report: "asyncio.Future[DeliveryReport]"
    """Shared by all requests of the chunk: do not cancel it."""
    first_position: int
    """Position of its first item in the chunk."""
    spool_id: str = ""
    """Its id in the spool; empty for a request that was sent."""


SendMessage = Callable[[str, int, bytes, Headers], Awaitable[DeliveryReport]]
"""Sends one message to a topic, by its name in Kafka, and a partition of it; waits for the
acknowledgement, however long."""


class InFlightBytes:
    """Bytes of all queues that Kafka has not acknowledged."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.bytes = 0

    def fits(self, size: int) -> bool:
        return self.bytes + size <= self._limit


class PendingChunk:
    """Requests that are sent as one Kafka message and wait for the same acknowledgement."""

    __slots__ = (
        "deadline",
        "envelopes",
        "items",
        "report",
        "request_ids",
        "sent_at",
        "size",
        "trace",
    )

    def __init__(self, report: "asyncio.Future[DeliveryReport]") -> None:
        self.report = report
        self.envelopes: list[bytes] = []
        self.request_ids: list[str] = []
        """Of its first requests."""
        self.items = 0
        self.size = 0
        self.sent_at: float | None = None
        self.trace: ChunkTrace | None = None
        """The spans of its requests that are recorded."""
        self.deadline: asyncio.TimerHandle | None = None

    def complete(self, report: DeliveryReport) -> None:
        """Complete all requests of the chunk; only the first report counts."""
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
        if not self.report.done():
            self.report.set_result(report)

    def time_out(self) -> None:
        """Complete the chunk because its deadline has passed."""
        self.complete(
            DeliveryReport(
                DeliveryStatus.NOT_SENT if self.sent_at is None else DeliveryStatus.UNKNOWN
            )
        )


class PartitionQueue:
    """Chunks that wait for one topic partition, and the one in flight."""

    def __init__(
        self,
        topic: str,
        partition: int,
        deliver: SendMessage,
        in_flight_bytes: InFlightBytes,
        chunk_bytes: int,
        timeout_seconds: float,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._deliver = deliver
        self._in_flight_bytes = in_flight_bytes
        self.chunk_bytes = chunk_bytes
        """Bytes after which a chunk takes no more requests."""
        self._timeout_seconds = timeout_seconds
        self._waiting: deque[PendingChunk] = deque()
        self._loop = asyncio.get_running_loop()
        self.sender_task: asyncio.Task[None] | None = None
        self.in_flight: PendingChunk | None = None
        self.stalled = False
        """Whether the chunk in flight has not been acknowledged for too long."""
        self.failed = False
        """Whether a delivery failed, until the producer is replaced."""

    def __str__(self) -> str:
        return f"{self._topic}/{self._partition}"

    @property
    def rejects_requests(self) -> bool:
        """Whether its circuit breaker is open: requests are rejected before anything is sent."""
        return self.stalled or self.failed

    def enqueue(self, envelopes: Sequence[bytes], size: int, items: int) -> PendingDelivery:
        """Add one whole request to a chunk; a request larger than a chunk is sent alone."""
        chunk = self._waiting[-1] if self._waiting else None
        if chunk is None or chunk.report.done() or chunk.size + size > self.chunk_bytes:
            chunk = self._open_chunk()
        delivery = PendingDelivery(chunk.report, chunk.items)
        chunk.envelopes.extend(envelopes)
        if len(chunk.request_ids) <= MAX_IDS and (request_id := REQUEST_ID.get()):
            chunk.request_ids.append(request_id)
        if Traces.tracer is not None:
            chunk.trace = trace_request(chunk.trace, items)
        chunk.items += items
        chunk.size += size
        self._in_flight_bytes.bytes += size
        if self.sender_task is None:
            self.sender_task = self._loop.create_task(self._run())
        return delivery

    def unacknowledged_seconds(self) -> float:
        """Seconds since the chunk in flight was sent; 0 without one."""
        chunk = self.in_flight
        return 0.0 if chunk is None or chunk.sent_at is None else self._loop.time() - chunk.sent_at

    def _open_chunk(self) -> PendingChunk:
        chunk = PendingChunk(self._loop.create_future())
        chunk.deadline = self._loop.call_later(self._timeout_seconds, chunk.time_out)
        self._waiting.append(chunk)
        return chunk

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._process(self._waiting.popleft())
                if self._waiting:
                    await asyncio.sleep(LINGER_SECONDS)
        finally:
            self.sender_task = None

    async def _process(self, chunk: PendingChunk) -> None:
        try:
            if not chunk.report.done():
                await self._send(chunk)
        finally:
            self._in_flight_bytes.bytes -= chunk.size

    async def _send(self, chunk: PendingChunk) -> None:
        chunk.sent_at = self._loop.time()
        self.in_flight = chunk
        report = DeliveryReport(DeliveryStatus.UNKNOWN)
        message, headers = encode_chunk(chunk.envelopes), request_id_headers(chunk.request_ids)
        if chunk.trace is not None:
            headers += chunk.trace.begin(str(self), chunk.items, len(message))
        try:
            report = await self._deliver(self._topic, self._partition, message, headers)
        finally:
            if chunk.trace is not None:
                chunk.trace.end(report.status.name.lower(), report.offset)
            self.in_flight = None
            self.stalled = False  # until the next look, and requests are accepted at once
            chunk.complete(report)
