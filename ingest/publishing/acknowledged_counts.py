"""Counts what senders were told is taken, and writes it down every second: an own account.

The ledger counts what workers read. Only beside this account does it show what nobody could read.
"""

import asyncio
import logging
import os
from pathlib import Path

from ingest.publishing.envelopes import EncodedRequest
from schemas.acknowledged_counts import ACKNOWLEDGED_FOLDER, HOUR_MS, delete_old_hours, write_hour
from schemas.runtime.clock import Clock, now_ms

log = logging.getLogger(__name__)

WRITE_INTERVAL_SECONDS = 1.0
ENTRIES_PER_SECOND = 2_000
"""Per second between two writings: the more there is to write, the seldomer."""


class AcknowledgedCounter:
    """The sums of this process since its start."""

    def __init__(self, data: Path, process: str, clock: Clock = now_ms) -> None:
        self._folder = data / ACKNOWLEDGED_FOLDER
        self._clock = clock
        self._process = f"{process}-{clock()}-{os.getpid()}"
        self._counts: dict[tuple[str, str, int], int] = {}
        """Items by topic, subject and hour since 1970."""
        self._written: dict[int, int] = {}
        """Items of each hour that are on the disk."""

    def add(self, topic: str, subject: str, received_ms: int, items: int) -> None:
        """Kafka acknowledged them."""
        key = topic, subject, received_ms // HOUR_MS
        self._counts[key] = self._counts.get(key, 0) + items

    def add_request(self, topic: str, sealed: EncodedRequest) -> None:
        """Kafka acknowledged a request."""
        if sealed.items_by_website is None:
            key = topic, sealed.owner_id, sealed.received_ms // HOUR_MS
            self._counts[key] = self._counts.get(key, 0) + sealed.count
        else:
            for website, items in sealed.items_by_website.items():
                self.add(topic, website, sealed.received_ms, items)

    async def run(self) -> None:
        """Write what changed, until cancelled."""
        forgotten = 0
        while True:
            await asyncio.sleep(max(WRITE_INTERVAL_SECONDS, len(self._counts) / ENTRIES_PER_SECOND))
            try:
                await asyncio.to_thread(self.write)
                self._drop_hours(self._clock() // HOUR_MS - 2)
                if forgotten != (hour := self._clock() // HOUR_MS):
                    await asyncio.to_thread(delete_old_hours, self._folder, self._clock())
                    forgotten = hour
            except OSError as full:
                log.warning("acknowledgements not written", extra={"reason": str(full)})

    def write(self) -> None:
        """Write the hours that changed."""
        hours: dict[int, dict[tuple[str, str], int]] = {}
        for (topic, subject, hour), items in self._counts.copy().items():
            hours.setdefault(hour, {})[topic, subject] = items
        for hour, counts in hours.items():
            if self._written.get(hour) != (items := sum(counts.values())):
                write_hour(self._folder, hour * HOUR_MS, self._process, counts)
                self._written[hour] = items

    def _drop_hours(self, before: int) -> None:
        """Let go of hours that are over and written."""
        gone = {hour for hour in self._written if hour < before}
        if not gone:
            return
        self._counts = {key: n for key, n in self._counts.items() if key[2] not in gone}
        self._written = {hour: n for hour, n in self._written.items() if hour not in gone}
