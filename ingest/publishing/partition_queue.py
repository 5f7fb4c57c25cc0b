"""Lanes: one for each topic partition, in which requests gather into chunks.

What arrives while a chunk is under way goes into the next one. So the clock is Kafka's own answer:
a quiet lane sends at once, a busy one sends fuller chunks.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto

from msgspec import Struct

from schemas.envelope import encode_chunk

LINGER_SECONDS = 0.003
"""What a busy lane waits between an answer and the next chunk.

Those who were answered just now send their next requests meanwhile. Without it two halves of the
senders take turns, with half-full chunks: a tenth more CPU for each request, and no less delay.
"""


class DeliveryStatus(Enum):
    """What became of a request that was put in a lane."""

    ACKNOWLEDGED = auto()
    NOT_SENT = auto()
    """It never left; a retry cannot double it."""
    UNKNOWN = auto()
    """It was handed over, and no answer came in time."""


UNKNOWN_OFFSET = -1


class DeliveryReport(Struct, frozen=True, gc=False):
    """What became of a chunk, and where it lies when Kafka has it."""

    status: DeliveryStatus
    partition: int = 0
    offset: int = UNKNOWN_OFFSET
    topic_id: str = ""
    """Kafka's id of the topic, when it tells one."""


class PendingDelivery(Struct, frozen=True):
    """One request in a chunk: the answer that is to come, and where its items begin."""

    report: "asyncio.Future[DeliveryReport]"
    """Others share it: do not cancel it."""
    first_position: int
    """Position of its first item in the chunk."""


SendMessage = Callable[[str, int, bytes], Awaitable[DeliveryReport]]
"""Sends one message to (topic, partition) and waits for the acknowledgement, however long."""


class InFlightBytes:
    """Bytes that wait for Kafka in all lanes."""

    def __init__(self, most: int) -> None:
        self._limit = most
        self.bytes = 0

    def fits(self, size: int) -> bool:
        return self.bytes + size <= self._limit


class PendingChunk:
    """Requests that travel as one message; all wait for the same answer."""

    __slots__ = ("deadline", "envelopes", "items", "report", "sent_at", "size")

    def __init__(self, answered: "asyncio.Future[DeliveryReport]") -> None:
        self.report = answered
        self.envelopes: list[bytes] = []
        self.items = 0
        self.size = 0
        self.sent_at: float | None = None
        self.deadline: asyncio.TimerHandle | None = None

    def complete(self, answer: DeliveryReport) -> None:
        """Tell all who wait; the first answer holds."""
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
        if not self.report.done():
            self.report.set_result(answer)

    def time_out(self) -> None:
        """The deadline has come."""
        self.complete(
            DeliveryReport(
                DeliveryStatus.NOT_SENT if self.sent_at is None else DeliveryStatus.UNKNOWN
            )
        )


class PartitionQueue:
    """What waits for one topic partition, and the one chunk that is under way."""

    def __init__(
        self,
        topic: str,
        partition: int,
        deliver: SendMessage,
        load: InFlightBytes,
        chunk_bytes: int,
        seconds: float,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._deliver = deliver
        self._in_flight_bytes = load
        self._chunk_bytes = chunk_bytes
        self._timeout_seconds = seconds
        self._waiting: deque[PendingChunk] = deque()
        self._loop = asyncio.get_running_loop()
        self.sender_task: asyncio.Task[None] | None = None
        self.in_flight: PendingChunk | None = None

    def enqueue(self, envelopes: Sequence[bytes], size: int, items: int) -> PendingDelivery:
        """Gather one request, whole; a request larger than a chunk goes alone."""
        chunk = self._waiting[-1] if self._waiting else None
        if chunk is None or chunk.report.done() or chunk.size + size > self._chunk_bytes:
            chunk = self._open_chunk()
        ticket = PendingDelivery(chunk.report, chunk.items)
        chunk.envelopes.extend(envelopes)
        chunk.items += items
        chunk.size += size
        self._in_flight_bytes.bytes += size
        if self.sender_task is None:
            self.sender_task = self._loop.create_task(self._run())
        return ticket

    def unacknowledged_seconds(self) -> float:
        """Seconds for which the chunk under way has been without an answer."""
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
        answer = DeliveryReport(DeliveryStatus.UNKNOWN)
        try:
            answer = await self._deliver(
                self._topic, self._partition, encode_chunk(chunk.envelopes)
            )
        finally:
            self.in_flight = None
            chunk.complete(answer)
