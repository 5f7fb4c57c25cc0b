"""DiskFloor: reject requests before the broker's disk is full.

A broker with a full disk crashes and loses what it has not synced. So below a minimum of free
space the collector responds 503 before it sends anything. It polls the disk once a second, and
between two polls subtracts what it sends itself.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from schemas.errors import Unavailable
from schemas.runtime.disk import default_floor
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

MIB = 1024 * 1024
POLL_INTERVAL_SECONDS = 1.0
WRITE_AMPLIFICATION = 2
"""Disk bytes per byte sent: one in the topic, less than one in the tables."""
RETRY_AFTER_SECONDS = 10
UNKNOWN_FREE_BYTES = 2**62

DISK_FULL_MESSAGE = (
    "The disk is full: {left} MB free, minimum {floor} MB. Nothing was accepted; retry later"
)

DiskUsage = Callable[[Path], tuple[int, int, int]]
"""Total, used and free bytes of the disk that holds a folder."""


class DiskFloor:
    """Tracks free disk space, and rejects requests below the floor."""

    def __init__(self, settings: Settings, usage: DiskUsage = shutil.disk_usage) -> None:
        self._folder = settings.data
        self._configured_floor = settings.disk_floor_mb * MIB
        self._senders = settings.collectors
        self._usage = usage
        self._watched = is_watched(settings)
        self._floor = 0
        self._free = UNKNOWN_FREE_BYTES
        self._sent = 0
        self._reservable = UNKNOWN_FREE_BYTES
        """Bytes that may be sent before the next poll."""
        self.unavailable_reason: str | None = None
        """Why requests are rejected; None while there is space."""
        self._try_poll()

    def reserve(self, size: int) -> None:
        """Count bytes that are about to be sent; Unavailable if they do not fit."""
        if not self._watched:
            return
        self._sent += size
        if self._sent > self._reservable and self.unavailable_reason is None:
            self._mark_full()
        if self.unavailable_reason is not None:
            raise Unavailable(self.unavailable_reason, RETRY_AFTER_SECONDS)

    def poll(self) -> None:
        """Read the free space of the disk."""
        if not self._watched:
            return
        total, _, self._free = self._usage(self._folder)
        self._floor, self._sent = self._configured_floor or default_floor(total), 0
        self._reservable = (self._free - self._floor) // (WRITE_AMPLIFICATION * self._senders)
        if self._free < self._floor:
            self._mark_full()
        elif self.unavailable_reason is not None:
            log.warning("disk space available again", extra={"free_mb": self._free // MIB})
            self.unavailable_reason = None

    async def run(self) -> None:
        """Poll until cancelled; a failed poll keeps the last state."""
        while True:
            await asyncio.sleep(POLL_INTERVAL_SECONDS)
            await asyncio.to_thread(self._try_poll)

    def _try_poll(self) -> None:
        try:
            self.poll()
        except OSError as error:
            log.warning("disk space check failed", extra={"error": str(error)})

    def _free_bytes(self) -> int:
        return self._free - self._sent * WRITE_AMPLIFICATION * self._senders

    def _mark_full(self) -> None:
        left_mb, floor_mb = max(0, self._free_bytes()) // MIB, self._floor // MIB
        if self.unavailable_reason is None:
            log.warning("disk full", extra={"left_mb": left_mb, "floor_mb": floor_mb})
        self.unavailable_reason = DISK_FULL_MESSAGE.format(left=left_mb, floor=floor_mb)


def is_watched(settings: Settings) -> bool:
    """Whether collectors reject requests when the disk is full.

    Kafka on another machine has its own disk: only an explicit floor is watched then.
    """
    return not settings.kafka or settings.disk_floor_mb > 0
