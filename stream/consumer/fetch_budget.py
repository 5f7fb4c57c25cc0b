"""Bounds the bytes of fetched messages that wait to be stored, fairly by topic partition.

Faust bounds the number of waiting messages, and a message may have four megabytes. Here each topic
partition always has a small minimum, and all together share the total: a busy partition fills the
budget, and all others are read nevertheless.
"""

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress

TOTAL_BYTES = 24 << 20
"""Bytes that may wait in total: one and a half batches, so that a worker is never idle."""
MIN_PARTITION_BYTES = 1 << 20
"""Bytes that each topic partition may have waiting in any case. One fetch may exceed either."""


class FetchBudget:
    """Bytes of messages that were fetched and not stored yet, by topic partition."""

    def __init__(self, total: int = TOTAL_BYTES, minimum: int = MIN_PARTITION_BYTES) -> None:
        self._total = total
        self._minimum = minimum
        self._waiting: dict[Hashable, deque[tuple[int, int]]] = {}
        """Offset and bytes of each message, in offset order."""
        self._bytes: dict[Hashable, int] = {}
        self.bytes = 0
        """Total of all topic partitions."""
        self._freed = asyncio.Event()

    def allows(self, partition: Hashable) -> bool:
        """Whether more of this topic partition may be fetched."""
        return self.bytes < self._total or self._bytes.get(partition, 0) < self._minimum

    def fetched(self, partition: Hashable, messages: Iterable[tuple[int, int]]) -> None:
        """Count fetched messages, given as (offset, bytes)."""
        added = list(messages)
        self._waiting.setdefault(partition, deque()).extend(added)
        self._count(partition, sum(size for _, size in added))

    def stored(self, next_offsets: Mapping[Hashable, int]) -> None:
        """Release messages below these next offsets, stored or discarded."""
        for partition, next_ in next_offsets.items():
            waiting = self._waiting.get(partition, deque())
            freed = 0
            while waiting and waiting[0][0] < next_:
                freed += waiting.popleft()[1]
            self._count(partition, -freed)
        self._freed.set()

    async def room(self, seconds: float) -> None:
        """Wait until something was stored, `seconds` at most."""
        self._freed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._freed.wait()

    def clear(self) -> None:
        """Forget all messages, after a seek: they are fetched again."""
        self._waiting.clear()
        self._bytes.clear()
        self.bytes = 0
        self._freed.set()

    def _count(self, partition: Hashable, change: int) -> None:
        self._bytes[partition] = self._bytes.get(partition, 0) + change
        self.bytes += change
