"""AcknowledgedCounter: counts acknowledged items per topic, website and hour; writes once a second.

The ledger counts the items that workers read. Compared with this count it shows items that were
acknowledged and never read.
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
"""With more entries than this, writes are less frequent than once a second."""


class AcknowledgedCounter:
    """Counts of this process since its start."""

    def __init__(self, data: Path, process: str, clock: Clock = now_ms) -> None:
        self._folder = data / ACKNOWLEDGED_FOLDER
        self._clock = clock
        self._process = f"{process}-{clock()}-{os.getpid()}"
        self._counts: dict[tuple[str, str, int], int] = {}
        """Items by topic, subject and hours since 1970."""
        self._written: dict[int, int] = {}
        """Items of each hour, as written to disk."""

    def add(self, topic: str, subject: str, received_ms: int, items: int) -> None:
        """Count items that Kafka acknowledged."""
        key = topic, subject, received_ms // HOUR_MS
        self._counts[key] = self._counts.get(key, 0) + items

    def add_request(self, topic: str, request: EncodedRequest) -> None:
        """Count the items of a request that Kafka acknowledged."""
        if request.items_by_website is None:
            key = topic, request.owner_id, request.received_ms // HOUR_MS
            self._counts[key] = self._counts.get(key, 0) + request.count
        else:
            for website, items in request.items_by_website.items():
                self.add(topic, website, request.received_ms, items)

    async def run(self) -> None:
        """Write changed hours until cancelled."""
        last_cleanup_hour = 0
        while True:
            await asyncio.sleep(max(WRITE_INTERVAL_SECONDS, len(self._counts) / ENTRIES_PER_SECOND))
            try:
                await asyncio.to_thread(self.write)
                self._drop_hours(self._clock() // HOUR_MS - 2)
                if last_cleanup_hour != (hour := self._clock() // HOUR_MS):
                    await asyncio.to_thread(delete_old_hours, self._folder, self._clock())
                    last_cleanup_hour = hour
            except OSError as error:
                log.warning("acknowledged counts not written", extra={"reason": str(error)})

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
        """Drop hours that are over and written from memory."""
        expired_hours = {hour for hour in self._written if hour < before}
        if not expired_hours:
            return
        self._counts = {key: n for key, n in self._counts.items() if key[2] not in expired_hours}
        self._written = {hour: n for hour, n in self._written.items() if hour not in expired_hours}
