"""Room on the disk: how much there is, and a word when it gets short while everything runs."""

import shutil
from collections.abc import Callable
from pathlib import Path

from ingest.publishing.disk_floor import default_floor
from schemas.runtime.settings import Settings

MEGABYTE = 1_048_576


def floor_mb(settings: Settings) -> int:
    """What is kept free: below it collectors take nothing, and nothing is started."""
    if settings.disk_floor_mb:
        return settings.disk_floor_mb
    try:
        return default_floor(shutil.disk_usage(settings.data).total) // MEGABYTE
    except OSError:
        return 0


def free_mb(folder: Path) -> int | None:
    """Room on the disk of a folder; None when nobody can say."""
    try:
        return shutil.disk_usage(folder).free // MEGABYTE
    except OSError:
        return None


class DiskSpaceMonitor:
    """Says once that the disk gets short, and once that there is room again."""

    def __init__(
        self, floor_mb: int, free: Callable[[], int | None], say: Callable[[str], None]
    ) -> None:
        self._floor = floor_mb
        self._free = free
        self._say = say
        self._short = False

    def check(self) -> None:
        """Compare what is free with the floor."""
        free = self._free()
        if free is None or (free < self._floor) is self._short:
            return
        self._short = not self._short
        if self._short:
            self._say(f"disk: only {free} MB are free, less than {self._floor}: make room soon")
        else:
            self._say(f"disk: {free} MB are free again")
