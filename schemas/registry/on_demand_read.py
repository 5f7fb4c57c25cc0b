"""OnDemandRead: reads the registry for requests with ids that this process does not know yet.

Anybody can send unknown ids. So requests share reads, reads are limited for the whole process, and
an id that was not found is not looked for again until the registry changes. A database that does
not answer holds one read and no request: each waits for WAIT_SECONDS at most.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection

from schemas.registry.contents import RegistryVersion

SECONDS_PER_READ = 0.05
"""Reads that follow each other closely are this far apart."""
BURST_READS = 20
"""Reads without a wait, after a pause of BURST_READS * SECONDS_PER_READ."""
MAX_WAITING = 256
"""Requests that wait for a read; others continue without one."""
WAIT_SECONDS = 1.0
"""How long a request waits for a read; while one takes longer, further requests do not wait."""
MAX_NOT_FOUND = 4096


class OnDemandRead:
    """Limited calls of `read`, which brings the snapshot up to date."""

    def __init__(self, read: Callable[[], Awaitable[None]]) -> None:
        self._read = read
        self._paid_until = 0.0
        self._next: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._is_late = False
        """Whether a request has given up waiting for the reads in progress."""
        self._waiting = 0
        self._not_found: set[str] = set()
        self._not_found_in: RegistryVersion | None = None

    async def read_for(self, ids: Collection[str], known: RegistryVersion) -> None:
        """Wait for a read that begins after this call, unless it was in vain at this version."""
        if known != self._not_found_in:
            self._not_found_in = known
            self._not_found.clear()
        if self._is_late or self._waiting >= MAX_WAITING or self._not_found.issuperset(ids):
            return
        self._waiting += 1
        try:
            self._next = self._next or asyncio.create_task(self._read_when_allowed(self._running))
            # No `asyncio.timeout`: on the collector's fast path no task runs the request.
            done, _ = await asyncio.wait((self._next,), timeout=WAIT_SECONDS)
        finally:
            self._waiting -= 1
        if not done:
            self._is_late = True
            return
        if len(self._not_found) + len(ids) > MAX_NOT_FOUND:
            self._not_found.clear()
        self._not_found.update(ids)

    async def _read_when_allowed(self, before: asyncio.Task[None] | None) -> None:
        """Read after `before`, so that one read is in progress at a time."""
        if before is not None and not before.done():
            await asyncio.wait((before,))
        await asyncio.sleep(self._seconds_to_wait())
        self._running, self._next = self._next, None  # requests from here on need a later read
        try:
            await self._read()
        finally:
            self._is_late = False

    def _seconds_to_wait(self) -> float:
        now = time.monotonic()
        self._paid_until = max(self._paid_until, now) + SECONDS_PER_READ
        return max(0.0, self._paid_until - BURST_READS * SECONDS_PER_READ - now)
