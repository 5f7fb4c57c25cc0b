"""Message queue: what was fetched of one topic, taken in batches that are fair by topic partition.

Each batch takes from every topic partition in turn, and in order within each. So who fills one
partition delays the others by a batch, and not by all that waits.
"""

import asyncio
from collections import deque

from msgspec import Struct

from stream.opening import Arrived


class Size(Struct, frozen=True):
    """When a batch is full; `seconds` after the one before it is taken as it is."""

    messages: int
    bytes: int
    seconds: float

    def is_reached(self, messages: int, held: int) -> bool:
        return messages >= self.messages or held >= self.bytes


class MessageQueue:
    """The messages of one assignment: those of an earlier one may be another worker's by now."""

    def __init__(self, size: Size) -> None:
        self.enough = asyncio.Event()
        """Whether there is a full batch."""
        self.messages = 0
        self._size = size
        self._bytes = 0
        self._generation: int | None = -1
        self._partitions: dict[int, deque[Arrived]] = {}

    def add(self, message: Arrived, generation: int | None) -> None:
        """A message that was fetched in this generation of the consumer group."""
        if generation != self._generation:
            self._partitions.clear()
            self.messages = self._bytes = 0
            self._generation = generation
        self._partitions.setdefault(message.partition, deque()).append(message)
        self._count(1, len(message.body))

    def take(self, generation: int | None) -> list[Arrived]:
        """The next batch; nothing when the assignment is another one by now."""
        taken: list[Arrived] = []
        held = 0
        while self._partitions and not self._size.is_reached(len(taken), held):
            partition, waiting = next(iter(self._partitions.items()))
            taken.append(waiting.popleft())
            held += len(taken[-1].body)
            del self._partitions[partition]
            if waiting:  # behind the others
                self._partitions[partition] = waiting
        self._count(-len(taken), -held)
        return taken if generation == self._generation else []

    def _count(self, messages: int, held: int) -> None:
        self.messages += messages
        self._bytes += held
        if self._size.is_reached(self.messages, self._bytes):
            self.enough.set()
        else:
            self.enough.clear()
