"""When a small batch is written: commits less often at low traffic, each batch costs two commits.

A commit writes a data file and a log entry in two tables, whether it has one row or ten thousand.
A batch of few items is written at once while commits are to spare, so that the first items after a
pause are not late; then one is to spare every `quiet_seconds`, and every LIVE_COMMIT_SECONDS while
a live view of the newest rows is open. Queries of live views leave a notice in the lake; it is read
only while a small batch waits, and by its changes: clocks of machines differ.
"""

import asyncio
import time
from collections.abc import Callable

from schemas.lake.live_notice import LiveNotice
from schemas.lake.object_store import is_object_store
from schemas.tables import Table

FEW_ITEMS = 50
"""A batch of this many items does not wait."""
SPARE_COMMITS = 6
"""Commits to spare after a pause."""
LIVE_COMMIT_SECONDS = 5.0
"""720 batches an hour at most, however often a page asks."""


def never_live() -> bool:
    return False


class CommitPace:
    """Decides whether a batch is written now; with `quiet_seconds` 0 every batch is.

    `is_live` says whether a live view is open; it is called only when a batch would wait.
    """

    def __init__(
        self,
        quiet_seconds: float,
        is_live: Callable[[], bool] = never_live,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet_seconds = quiet_seconds
        self._is_live = is_live
        self._monotonic = monotonic
        self._spare = float(SPARE_COMMITS)
        self._counted_at = monotonic()
        self._allowed_at = float("-inf")

    def allows(self, items: int, awaited: bool) -> bool:
        """Whether a batch of so many items is written; `awaited`: a request waits for it."""
        now = self._monotonic()
        if not self._quiet_seconds or awaited or items >= FEW_ITEMS or self._is_to_spare(now):
            self._allowed_at = now
            return True
        return False

    def _is_to_spare(self, now: float) -> bool:
        earned = (now - self._counted_at) / self._quiet_seconds
        self._spare, self._counted_at = min(self._spare + earned, SPARE_COMMITS), now
        if self._spare >= 1:
            self._spare -= 1
            return True
        if now - self._allowed_at >= LIVE_COMMIT_SECONDS and self._is_live():
            self._spare = 0.0  # else commits of the quiet pace would add to these
            return True
        return False


READ_SECONDS, REMOTE_READ_SECONDS = 0.5, 2.0
"""Pauses between two reads of a notice on a disk, and of one in an object store."""
LIVE_SECONDS = 20.0
"""How long a notice counts as a live view; query services renew it every five seconds."""


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
        """Whether a live view was open lately; starts to read the notice again."""
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
