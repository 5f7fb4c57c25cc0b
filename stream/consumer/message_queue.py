"""Queue of fetched messages of one topic, taken in batches that are fair by topic partition.

A batch ends by items, by bytes or by time. Every batch is two commits, three with
quarantined items or duplicates, so none ends by its number of messages, which may have one item
each.

Max-min fair: a batch takes the next message from the partition of which it has the least so far, in
offset order within the partition. So a flooded partition delays the others by one batch at most,
not by its whole backlog.
"""

import asyncio
from collections import deque
from contextlib import suppress
from heapq import heappop, heappush

from msgspec import Struct

from stream.rows.kafka_message import KafkaMessage

MESSAGE_OVERHEAD_BYTES = 2_048
"""Memory that a message takes besides its bytes."""
MANY_ITEMS = 2_500
"""Items that cost several times as much as the commits of a batch, which then ends early."""


class BatchLimits(Struct, frozen=True):
    """When a batch is full; `seconds` after the previous one it is taken as it is."""

    bytes: int
    """Bytes of its messages, with their overhead."""
    items: int
    seconds: float

    def are_reached(self, size: int, items: int) -> bool:
        return size >= self.bytes or items >= self.items

    @property
    def early_seconds(self) -> float:
        """The time after which a batch of MANY_ITEMS is taken."""
        return self.seconds / 2

    def share(self, message: KafkaMessage) -> float:
        """The part of a full batch that the message takes."""
        return max(message.items / self.items, memory_size(message) / self.bytes)


def memory_size(message: KafkaMessage) -> int:
    """Bytes of a message with its overhead."""
    return message.size + MESSAGE_OVERHEAD_BYTES


class MessageQueue:
    """Messages of one consumer group generation; earlier generations are discarded."""

    def __init__(self, limits: BatchLimits) -> None:
        self.batch_ready = asyncio.Event()
        """Set while the queue holds a full batch."""
        self.messages = 0
        self._limits = limits
        self.items = 0
        self.awaited = 0
        """Messages that a request waits for."""
        self._bytes = 0
        self._generation: int | None = -1
        self._partitions: dict[int, deque[KafkaMessage]] = {}

    def add(self, message: KafkaMessage, generation: int | None) -> None:
        """Queue a message that was fetched in this generation of the consumer group."""
        if generation != self._generation:
            self._partitions.clear()
            self.messages = self._bytes = self.items = self.awaited = 0
            self._generation = generation
        self._partitions.setdefault(message.partition, deque()).append(message)
        self.awaited += message.awaited
        self._count(1, memory_size(message), message.items)

    async def wait(self) -> bool:
        """Wait until a batch is due; whether it is full, or has many items."""
        limits = self._limits
        if await self._full_within(limits.early_seconds) or self.items >= MANY_ITEMS:
            return True
        return await self._full_within(limits.seconds - limits.early_seconds)

    async def _full_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.batch_ready.wait()
        return self.batch_ready.is_set()

    def take(self, generation: int | None) -> list[KafkaMessage]:
        """The next batch; empty when the generation has changed."""
        taken: list[KafkaMessage] = []
        size = items = 0
        heap = [(0.0, order, partition) for order, partition in enumerate(self._partitions)]
        while heap and not self._limits.are_reached(size, items):
            share, order, partition = heappop(heap)
            waiting = self._partitions[partition]
            message = waiting.popleft()
            taken.append(message)
            size += memory_size(message)
            items += message.items
            if waiting:
                heappush(heap, (share + self._limits.share(message), order, partition))
        self._put_behind({message.partition for message in taken})
        self.awaited -= sum(message.awaited for message in taken)
        self._count(-len(taken), -size, -items)
        return taken if generation == self._generation else []

    def _put_behind(self, partitions: set[int]) -> None:
        """Move served partitions behind the others, or small batches would never reach the last."""
        for partition in sorted(partitions):
            if waiting := self._partitions.pop(partition):
                self._partitions[partition] = waiting

    def _count(self, messages: int, size: int, items: int) -> None:
        self.messages += messages
        self._bytes += size
        self.items += items
        if self._limits.are_reached(self._bytes, self.items):
            self.batch_ready.set()
        else:
            self.batch_ready.clear()
