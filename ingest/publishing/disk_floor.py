"""Disk floor: what the collector leaves free where it shares a disk with the broker.

A broker whose disk is full dies, and takes what it has not synced with it. So nothing is taken any
more while there is room to die in order: requests get 503 before anything is sent. The disk is
looked at once a second; between two looks the collector adds up what it sends itself.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from schemas.errors import Unavailable
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

MIB = 1024 * 1024
POLL_INTERVAL_SECONDS = 1.0
FLOOR_DIVISOR = 20
MIN_FLOOR_BYTES, MAX_FLOOR_BYTES = 16 * MIB, 512 * MIB
"""Unless it is set the floor is a twentieth of the disk within these bounds: small volumes too."""
WRITE_AMPLIFICATION = 2
"""What becomes of a byte on the disk: one in the topic, less than one in the tables."""
RETRY_AFTER_SECONDS = 10
UNKNOWN_FREE_BYTES = 2**62

DISK_FULL_MESSAGE = (
    "The disk has no room left: {left} MB free, {floor} MB are kept free; nothing was taken"
)

DiskUsage = Callable[[Path], tuple[int, int, int]]
"""Total, used and free bytes of a folder's disk."""


def default_floor(total: int) -> int:
    """Bytes that are kept free of a disk of this size, unless the setting says otherwise."""
    return min(MAX_FLOOR_BYTES, max(MIN_FLOOR_BYTES, total // FLOOR_DIVISOR))


class DiskFloor:
    """Whether there is room for more."""

    def __init__(self, settings: Settings, usage: DiskUsage = shutil.disk_usage) -> None:
        self._folder = settings.data
        self._configured_floor = settings.disk_floor_mb * MIB
        self._senders = settings.collectors
        self._usage = usage
        self._watched = not settings.kafka or self._configured_floor > 0
        """A Kafka elsewhere has a disk of its own; unless somebody says otherwise."""
        self._floor = 0
        self._free = UNKNOWN_FREE_BYTES
        self._sent = 0
        self._most = UNKNOWN_FREE_BYTES
        """What may be sent before the next look."""
        self.unavailable_reason: str | None = None
        """Why nothing is taken; None when there is room."""
        self._try_poll()

    def reserve(self, size: int) -> None:
        """Count bytes that are about to be sent; Unavailable when there is no room for them."""
        if not self._watched:
            return
        self._sent += size
        if self._sent > self._most and self.unavailable_reason is None:
            self._mark_full()
        if self.unavailable_reason is not None:
            raise Unavailable(self.unavailable_reason, RETRY_AFTER_SECONDS)

    def poll(self) -> None:
        """See how much is free now."""
        if not self._watched:
            return
        total, _, self._free = self._usage(self._folder)
        self._floor, self._sent = self._configured_floor or default_floor(total), 0
        self._most = (self._free - self._floor) // (WRITE_AMPLIFICATION * self._senders)
        if self._free < self._floor:
            self._mark_full()
        elif self.unavailable_reason is not None:
            log.warning("disk has room again", extra={"free_mb": self._free // MIB})
            self.unavailable_reason = None

    async def run(self) -> None:
        """Look until cancelled; a disk that cannot be looked at is as it was."""
        while True:
            await asyncio.sleep(POLL_INTERVAL_SECONDS)
            await asyncio.to_thread(self._try_poll)

    def _try_poll(self) -> None:
        try:
            self.poll()
        except OSError as error:
            log.warning("disk not looked at", extra={"error": str(error)})

    def _free_bytes(self) -> int:
        return self._free - self._sent * WRITE_AMPLIFICATION * self._senders

    def _mark_full(self) -> None:
        left, floor = max(0, self._free_bytes()) // MIB, self._floor // MIB
        if self.unavailable_reason is None:
            log.warning("disk full", extra={"left_mb": left, "floor_mb": floor})
        self.unavailable_reason = DISK_FULL_MESSAGE.format(left=left, floor=floor)
