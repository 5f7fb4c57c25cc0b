"""Message queue: what was fetched of one topic, taken in batches that are fair by topic partition.

Max-min fair: each batch takes in order within a topic partition, and next from the one of which it
has the least. So who fills one partition delays the others by a batch, and not by all that waits.
"""

import asyncio
from collections import deque
from heapq import heappop, heappush

from msgspec import Struct

from stream.rows.decoder import KafkaMessage


class BatchLimits(Struct, frozen=True):
    """When a batch is full; `seconds` after the one before it is taken as it is."""

    messages: int
    bytes: int
    items: int
    seconds: float

    def are_reached(self, messages: int, held: int, items: int) -> bool:
        return messages >= self.messages or held >= self.bytes or items >= self.items

    def share(self, message: KafkaMessage) -> float:
        """What part of a batch the message is."""
        return max(message.items / self.items, len(message.body) / self.bytes)


class MessageQueue:
    """The messages of one assignment: those of an earlier one may be another worker's by now."""

    def __init__(self, size: BatchLimits) -> None:
        self.batch_ready = asyncio.Event()
        """Whether there is a full batch."""
        self.messages = 0
        self._size = size
        self._bytes = self._items = 0
        self._generation: int | None = -1
        self._partitions: dict[int, deque[KafkaMessage]] = {}

    def add(self, message: KafkaMessage, generation: int | None) -> None:
        """A message that was fetched in this generation of the consumer group."""
        if generation != self._generation:
            self._partitions.clear()
            self.messages = self._bytes = self._items = 0
            self._generation = generation
        self._partitions.setdefault(message.partition, deque()).append(message)
        self._count(1, len(message.body), message.items)

    def take(self, generation: int | None) -> list[KafkaMessage]:
        """The next batch; nothing when the assignment is another one by now."""
        taken: list[KafkaMessage] = []
        held = items = 0
        turns = [(0.0, turn, partition) for turn, partition in enumerate(self._partitions)]
        while turns and not self._size.are_reached(len(taken), held, items):
            share, turn, partition = heappop(turns)
            waiting = self._partitions[partition]
            message = waiting.popleft()
            taken.append(message)
            held += len(message.body)
            items += message.items
            if waiting:
                heappush(turns, (share + self._size.share(message), turn, partition))
        self._put_behind({message.partition for message in taken})
        self._count(-len(taken), -held, -items)
        return taken if generation == self._generation else []

    def _put_behind(self, served: set[int]) -> None:
        """Who had a turn comes after who had none, or small batches would never reach the last."""
        for partition in sorted(served):
            if waiting := self._partitions.pop(partition):
                self._partitions[partition] = waiting

    def _count(self, messages: int, held: int, items: int) -> None:
        self.messages += messages
        self._bytes += held
        self._items += items
        if self._size.are_reached(self.messages, self._bytes, self._items):
            self.batch_ready.set()
        else:
            self.batch_ready.clear()
