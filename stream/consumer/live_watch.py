"""LiveWatch: whether somebody looks at the newest rows of a table, as its notice in the lake says.

The notice is read only while a small batch waits, and by its changes: clocks of machines differ.
"""

import asyncio
import time
from collections.abc import Callable

from schemas.lake.live_notice import LiveNotice
from schemas.lake.object_store import is_object_store
from schemas.tables import Table

READ_SECONDS, REMOTE_READ_SECONDS = 0.5, 2.0
"""Pauses between two reads of a notice on a disk, and of one in an object store."""
LIVE_SECONDS = 20.0
"""Time after a notice during which somebody is taken to look; it is renewed every five seconds."""


class LiveWatch:
    """Follows the notice of one table; for one event loop."""

    def __init__(
        self, lake: str, table: Table, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._lake = lake
        self._table = table
        self._monotonic = monotonic
        self._pause = REMOTE_READ_SECONDS if is_object_store(lake) else READ_SECONDS
        self._notice: LiveNotice | None = None
        self._written_ms: int | None = None
        self._read_at = self._live_until = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    def is_live(self) -> bool:
        """Whether somebody looked lately; also begins to read the notice again."""
        if self._reading is None and self._monotonic() >= self._read_at + self._pause:
            self._reading = asyncio.create_task(self._read())
        return self._monotonic() < self._live_until

    async def _read(self) -> None:
        try:
            written_ms = await asyncio.to_thread(self._read_notice)
            before, self._written_ms = self._written_ms, written_ms
            # What was noted before the first read may be long over.
            if before is not None and written_ms > before:
                self._live_until = self._monotonic() + LIVE_SECONDS
        finally:
            self._read_at = self._monotonic()
            self._reading = None

    def _read_notice(self) -> int:
        if self._notice is None:
            self._notice = LiveNotice(self._lake, self._table)
        return self._notice.read()
