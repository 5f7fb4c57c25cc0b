"""RangeReader: reads objects in ranges, several at once, with a bound on memory and connections.

One request for a large object has the bandwidth of one connection, and must end within the time
limit of a request. Stores answer one range for each request, so ranges are requests of their own.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from schemas.lake.object_store import ObjectFolder

RANGE_BYTES = 4 * 2**20
CONCURRENT_REQUESTS = 16
"""Connections, and ranges in memory (64 MiB), of all reads of a process."""
OBJECT_REQUESTS = 8
"""Ranges of one object that are read ahead."""


class RangeReader:
    """Reads objects of one store; for one event loop."""

    def __init__(
        self,
        objects: ObjectFolder,
        range_bytes: int = RANGE_BYTES,
        requests: int = CONCURRENT_REQUESTS,
    ) -> None:
        self._objects = objects
        self._range_bytes = range_bytes
        self._slots = asyncio.Semaphore(requests)

    async def pieces(self, name: str, size: int) -> AsyncGenerator[memoryview, None]:
        """The first `size` bytes of an object in order; fewer when it is shorter.

        FileNotFoundError when there is no object; close the iterator when it is left early.
        """
        reading: deque[asyncio.Task[memoryview]] = deque()
        try:
            for start in range(0, size, self._range_bytes):
                # Nothing of this object waits for a slot while it holds one: none waits for ever.
                while reading and (len(reading) >= OBJECT_REQUESTS or self._slots.locked()):
                    yield await reading[0]
                    self._end(reading)
                await self._slots.acquire()
                length = min(self._range_bytes, size - start)
                read = self._objects.read_range_async(name, start, length)
                reading.append(asyncio.create_task(read))
            while reading:
                yield await reading[0]
                self._end(reading)
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            while reading:
                self._end(reading)

    def _end(self, reading: "deque[asyncio.Task[memoryview]]") -> None:
        """The oldest range is written, or not needed: its memory and connection are free."""
        reading.popleft()
        self._slots.release()
