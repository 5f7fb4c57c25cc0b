"""Turns: heavy work of one sort takes a part of a collector's time, and live requests the rest."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from schemas.errors import Unavailable

PAUSE_FACTOR = 4
"""Each sort of such work gets one part in so many of a collector's time."""
MAX_WAITING = 8


class CpuThrottle:
    """One at a time, and a rest after each, so that all of them keep to their share."""

    def __init__(self, busy: str) -> None:
        """`busy` is what is said when too many wait."""
        self._busy = busy
        self._lock = asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Unavailable when too many wait already."""
        if self._waiting >= MAX_WAITING:
            raise Unavailable(self._busy, retry_after=1)
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        # Of the thread, so that what live requests used meanwhile makes the rest longer.
        began = time.thread_time()
        try:
            yield
            await asyncio.sleep((PAUSE_FACTOR - 1) * (time.thread_time() - began))
        finally:
            self._lock.release()
