"""Fetch budget: how many bytes of fetched messages may wait to be stored, fair by topic partition.

Faust bounds what waits by its number, and a message may have four megabytes. Here each topic
partition may always have a little waiting, and all together as much as the budget has: who sends
much fills the budget, and all others are read nevertheless.
"""

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress

TOTAL_BYTES = 24 << 20
"""Bytes that may wait in all: a batch and half of the next, so that a worker has always work."""
MIN_PARTITION_BYTES = 1 << 20
"""And of one topic partition, whatever others have waiting. One fetch goes beyond either."""


class FetchBudget:
    """What was fetched and is not stored yet, by topic partition."""

    def __init__(self, whole: int = TOTAL_BYTES, least: int = MIN_PARTITION_BYTES) -> None:
        self._total = whole
        self._minimum = least
        self._waiting: dict[Hashable, deque[tuple[int, int]]] = {}
        """Offset and bytes of each message, in the order of Kafka."""
        self._bytes: dict[Hashable, int] = {}
        self.bytes = 0
        """Of all topic partitions."""
        self._freed = asyncio.Event()

    def allows(self, partition: Hashable) -> bool:
        """Whether more of this topic partition may be fetched."""
        return self.bytes < self._total or self._bytes.get(partition, 0) < self._minimum

    def fetched(self, partition: Hashable, messages: Iterable[tuple[int, int]]) -> None:
        """Messages of these offsets and sizes wait from now on."""
        came = list(messages)
        self._waiting.setdefault(partition, deque()).extend(came)
        self._count(partition, sum(size for _, size in came))

    def stored(self, nexts: Mapping[Hashable, int]) -> None:
        """What lies below these offsets waits no more, stored or passed over."""
        for partition, next_ in nexts.items():
            waiting = self._waiting.get(partition, deque())
            gone = 0
            while waiting and waiting[0][0] < next_:
                gone += waiting.popleft()[1]
            self._count(partition, -gone)
        self._freed.set()

    async def room(self, seconds: float) -> None:
        """Wait until something was stored, or so long."""
        self._freed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._freed.wait()

    def clear(self) -> None:
        """What was fetched is fetched again, from wherever reading goes on."""
        self._waiting.clear()
        self._bytes.clear()
        self.bytes = 0
        self._freed.set()

    def _count(self, partition: Hashable, more: int) -> None:
        self._bytes[partition] = self._bytes.get(partition, 0) + more
        self.bytes += more
