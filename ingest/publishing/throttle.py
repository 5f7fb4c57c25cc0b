"""CpuThrottle: one CPU-heavy job at a time, at most a quarter of the process's time."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from schemas.errors import Unavailable

PAUSE_FACTOR = 4
"""A throttled job gets one part in so many of the process's time."""
MAX_WAITING = 8


class CpuThrottle:
    """Runs one job at a time, with a pause after each in proportion to its CPU time."""

    def __init__(self, busy_message: str) -> None:
        """`busy_message` is the error when too many wait."""
        self._busy = busy_message
        self._lock = asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot; Unavailable if too many wait already."""
        if self._waiting >= MAX_WAITING:
            raise Unavailable(self._busy, retry_after=1)
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        # Thread time, so that CPU used by live requests meanwhile makes the pause longer.
        started = time.thread_time()
        try:
            yield
            await asyncio.sleep((PAUSE_FACTOR - 1) * (time.thread_time() - started))
        finally:
            self._lock.release()
