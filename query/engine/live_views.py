"""LiveViews: notifies workers that a live view of a table's newest rows is open.

A query never waits for it: it reads the stored rows, and the next query finds those stored since.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from schemas.lake.live_notice import LiveNotice
from schemas.runtime.clock import Clock
from schemas.tables import Table

log = logging.getLogger(__name__)

NOTICE_SECONDS = 5.0
"""Interval in which the notice of a table is written while queries read its newest rows."""
RETRY_SECONDS = 60.0
"""Pause after a notice that could not be written, for example without permission to write."""


class LiveViews:
    """Writes the notices of one lake; for one event loop."""

    def __init__(
        self, lake: str, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._lake = lake
        self._clock = clock
        self._monotonic = monotonic
        self._next_at: dict[str, float] = {}
        self._notices: dict[str, LiveNotice] = {}
        self._writing: set[asyncio.Future[None]] = set()
        self._failed = False

    def note(self, table: Table) -> None:
        """A query reads the newest rows of this table."""
        now = self._monotonic()
        if now < self._next_at.get(table.name, now):
            return
        self._next_at[table.name] = now + NOTICE_SECONDS
        writing = asyncio.get_running_loop().run_in_executor(None, self._write, table)
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    def _write(self, table: Table) -> None:
        try:
            if table.name not in self._notices:
                self._notices[table.name] = LiveNotice(self._lake, table)
            self._notices[table.name].write(self._clock())
        except OSError as error:
            self._next_at[table.name] = self._monotonic() + RETRY_SECONDS
            if not self._failed:
                log.warning("live queries not announced", extra={"reason": str(error)})
            self._failed = True
        else:
            self._failed = False
