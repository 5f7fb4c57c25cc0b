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
LOOK_SECONDS = 1.0
SHARE = 20
LEAST_FLOOR, MOST_FLOOR = 16 * MIB, 512 * MIB
"""Unless it is set the floor is a twentieth of the disk within these bounds: small volumes too."""
COPIES = 2
"""What becomes of a byte on the disk: one in the topic, less than one in the tables."""
RETRY_SECONDS = 10
UNKNOWN = 2**62

FULL = "The disk has no room left: {left} MB free, {floor} MB are kept free; nothing was taken"

Usage = Callable[[Path], tuple[int, int, int]]
"""Total, used and free bytes of a folder's disk."""


def usual_floor(total: int) -> int:
    """Bytes that are kept free of a disk of this size, unless the setting says otherwise."""
    return min(MOST_FLOOR, max(LEAST_FLOOR, total // SHARE))


class DiskFloor:
    """Whether there is room for more."""

    def __init__(self, settings: Settings, usage: Usage = shutil.disk_usage) -> None:
        self._folder = settings.data
        self._set = settings.disk_floor_mb * MIB
        self._senders = settings.collectors
        self._usage = usage
        self._watched = not settings.kafka or self._set > 0
        """A Kafka elsewhere has a disk of its own; unless somebody says otherwise."""
        self._floor = 0
        self._free = UNKNOWN
        self._sent = 0
        self._most = UNKNOWN
        """What may be sent before the next look."""
        self.refusing: str | None = None
        """Why nothing is taken; None when there is room."""
        self._try_to_look()

    def claim(self, size: int) -> None:
        """Count bytes that are about to be sent; Unavailable when there is no room for them."""
        if not self._watched:
            return
        self._sent += size
        if self._sent > self._most and self.refusing is None:
            self._refuse()
        if self.refusing is not None:
            raise Unavailable(self.refusing, RETRY_SECONDS)

    def look(self) -> None:
        """See how much is free now."""
        if not self._watched:
            return
        total, _, self._free = self._usage(self._folder)
        self._floor, self._sent = self._set or usual_floor(total), 0
        self._most = (self._free - self._floor) // (COPIES * self._senders)
        if self._free < self._floor:
            self._refuse()
        elif self.refusing is not None:
            log.warning("disk has room again", extra={"free_mb": self._free // MIB})
            self.refusing = None

    async def run(self) -> None:
        """Look until cancelled; a disk that cannot be looked at is as it was."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await asyncio.to_thread(self._try_to_look)

    def _try_to_look(self) -> None:
        try:
            self.look()
        except OSError as error:
            log.warning("disk not looked at", extra={"error": str(error)})

    def _left(self) -> int:
        return self._free - self._sent * COPIES * self._senders

    def _refuse(self) -> None:
        left, floor = max(0, self._left()) // MIB, self._floor // MIB
        if self.refusing is None:
            log.warning("disk full", extra={"left_mb": left, "floor_mb": floor})
        self.refusing = FULL.format(left=left, floor=floor)
