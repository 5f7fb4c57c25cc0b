"""Free disk space, and a warning when it falls below the floor."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from schemas.runtime.disk import default_floor
from schemas.runtime.files import matching_files
from schemas.runtime.settings import Settings

MEGABYTE = 1_048_576


def floor_mb(settings: Settings) -> int:
    """Minimum free disk space: below it collectors reject requests, and a start is refused."""
    if settings.disk_floor_mb:
        return settings.disk_floor_mb
    try:
        return default_floor(shutil.disk_usage(settings.data).total) // MEGABYTE
    except OSError:
        return 0


def free_mb(folder: Path) -> int | None:
    """Free space on the disk of a folder; None when it cannot be determined."""
    try:
        return shutil.disk_usage(folder).free // MEGABYTE
    except OSError:
        return None


def to_mb(size: int) -> float:
    """Megabytes with one decimal."""
    return round(size / MEGABYTE, 1)


def folder_mb(folder: Path) -> float:
    """Size of all files of a folder; 0 without it."""
    size = 0
    for path in matching_files(folder, "**"):
        with suppress(FileNotFoundError):  # removed meanwhile
            size += path.stat().st_size if path.is_file() else 0
    return to_mb(size)


class DiskSpaceMonitor:
    """Warns once when free disk space falls below the floor, and once when it recovers."""

    def __init__(
        self, floor_mb: int, free: Callable[[], int | None], say: Callable[[str], None]
    ) -> None:
        self._floor = floor_mb
        self._free = free
        self._say = say
        self._short = False

    def check(self) -> None:
        """Compare the free space with the floor."""
        free = self._free()
        if free is None or (free < self._floor) is self._short:
            return
        self._short = not self._short
        if self._short:
            self._say(f"disk: only {free} MB free, minimum {self._floor} MB: free some space")
        else:
            self._say(f"disk: {free} MB free again")
