"""Lanes: one for each topic partition, in which requests gather into chunks.

What arrives while a chunk is under way goes into the next one. So the clock is Kafka's own answer:
a quiet lane sends at once, a busy one sends fuller chunks.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto

from msgspec import Struct

from schemas.envelope import join

BREATH_SECONDS = 0.003
"""What a busy lane waits between an answer and the next chunk.

Those who were answered just now send their next requests meanwhile. Without it two halves of the
senders take turns, with half-full chunks: a tenth more CPU for each request, and no less delay.
"""


class Outcome(Enum):
    """What became of a request that was put in a lane."""

    ACKNOWLEDGED = auto()
    NOT_SENT = auto()
    """It never left; a retry cannot double it."""
    UNKNOWN = auto()
    """It was handed over, and no answer came in time."""


UNKNOWN_OFFSET = -1


class Answer(Struct, frozen=True, gc=False):
    """What became of a chunk, and where it lies when Kafka has it."""

    outcome: Outcome
    partition: int = 0
    offset: int = UNKNOWN_OFFSET
    topic_id: str = ""
    """Kafka's id of the topic, when it tells one."""


class Ticket(Struct, frozen=True):
    """One request in a chunk: the answer that is to come, and where its items begin."""

    answered: "asyncio.Future[Answer]"
    """Others share it: do not cancel it."""
    first: int
    """Position of its first item in the chunk."""


Deliver = Callable[[str, int, bytes], Awaitable[Answer]]
"""Sends one message to (topic, partition) and waits for the acknowledgement, however long."""


class Load:
    """Bytes that wait for Kafka in all lanes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.bytes = 0

    def fits(self, size: int) -> bool:
        return self.bytes + size <= self._most


class Chunk:
    """Requests that travel as one message; all wait for the same answer."""

    __slots__ = ("answered", "deadline", "envelopes", "items", "sent_at", "size")

    def __init__(self, answered: "asyncio.Future[Answer]") -> None:
        self.answered = answered
        self.envelopes: list[bytes] = []
        self.items = 0
        self.size = 0
        self.sent_at: float | None = None
        self.deadline: asyncio.TimerHandle | None = None

    def answer(self, answer: Answer) -> None:
        """Tell all who wait; the first answer holds."""
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
        if not self.answered.done():
            self.answered.set_result(answer)

    def overdue(self) -> None:
        """The deadline has come."""
        self.answer(Answer(Outcome.NOT_SENT if self.sent_at is None else Outcome.UNKNOWN))


class Lane:
    """What waits for one topic partition, and the one chunk that is under way."""

    def __init__(
        self,
        topic: str,
        partition: int,
        deliver: Deliver,
        load: Load,
        chunk_bytes: int,
        seconds: float,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._deliver = deliver
        self._load = load
        self._chunk_bytes = chunk_bytes
        self._seconds = seconds
        self._waiting: deque[Chunk] = deque()
        self._loop = asyncio.get_running_loop()
        self.running: asyncio.Task[None] | None = None
        self.under_way: Chunk | None = None

    def put(self, envelopes: Sequence[bytes], size: int, items: int) -> Ticket:
        """Gather one request, whole; a request larger than a chunk goes alone."""
        chunk = self._waiting[-1] if self._waiting else None
        if chunk is None or chunk.answered.done() or chunk.size + size > self._chunk_bytes:
            chunk = self._open()
        ticket = Ticket(chunk.answered, chunk.items)
        chunk.envelopes.extend(envelopes)
        chunk.items += items
        chunk.size += size
        self._load.bytes += size
        if self.running is None:
            self.running = self._loop.create_task(self._run())
        return ticket

    def age(self) -> float:
        """Seconds for which the chunk under way has been without an answer."""
        chunk = self.under_way
        return 0.0 if chunk is None or chunk.sent_at is None else self._loop.time() - chunk.sent_at

    def _open(self) -> Chunk:
        chunk = Chunk(self._loop.create_future())
        chunk.deadline = self._loop.call_later(self._seconds, chunk.overdue)
        self._waiting.append(chunk)
        return chunk

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._take(self._waiting.popleft())
                if self._waiting:
                    await asyncio.sleep(BREATH_SECONDS)
        finally:
            self.running = None

    async def _take(self, chunk: Chunk) -> None:
        try:
            if not chunk.answered.done():
                await self._send(chunk)
        finally:
            self._load.bytes -= chunk.size

    async def _send(self, chunk: Chunk) -> None:
        chunk.sent_at = self._loop.time()
        self.under_way = chunk
        answer = Answer(Outcome.UNKNOWN)
        try:
            answer = await self._deliver(self._topic, self._partition, join(chunk.envelopes))
        finally:
            self.under_way = None
            chunk.answer(answer)
