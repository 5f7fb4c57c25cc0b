"""Location of an IP address from .mmdb files, reopened when they are replaced.

While a new file is broken or missing, the old one stays in use. A file must be replaced by a
rename, because writing into it changes the memory map of open readers.
"""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import maxminddb
from maxminddb.errors import InvalidDatabaseError

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.geo_records import NO_LOCATION, Location, parse_record
from stream.enrich.rules.reserved_addresses import is_reserved

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
UNREADABLE = (OSError, InvalidDatabaseError, ValueError)

FileState = tuple[int, int, int] | None
"""Inode, size and modification time, which identify a state of a file; None without a file."""


class GeoFile:
    """One .mmdb file, with its state at the last check."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: FileState = None
        self._reader: maxminddb.Reader | None = None

    def refresh(self) -> bool:
        """Open the file when it has changed; returns whether it was opened."""
        state = self._stat()
        if state == self._state:
            return False
        self._state = state
        try:
            self._reader = maxminddb.open_database(self.path)
        except UNREADABLE as error:
            log.warning(
                "geo database not readable", extra={"path": str(self.path), "reason": str(error)}
            )
            return False
        built = self._reader.metadata().build_epoch
        log.info("geo database loaded", extra={"path": str(self.path), "built": built})
        return True

    @property
    def is_open(self) -> bool:
        """Whether it could be opened at any time."""
        return self._reader is not None

    def find(self, address: str) -> Location:
        """The location of an address; NO_LOCATION when the file does not have it."""
        if self._reader is None:
            return NO_LOCATION
        try:
            record = self._reader.get(address)
        except ValueError:  # an IPv6 address, and a file of IPv4 alone
            return NO_LOCATION
        return parse_record(record) if isinstance(record, dict) else NO_LOCATION

    def _stat(self) -> FileState:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns


class GeoDatabase:
    """Looks up addresses; the first file that has a country wins. Without files: NO_LOCATION."""

    def __init__(
        self, paths: Sequence[Path] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._files = [GeoFile(path) for path in paths]
        self._clock = clock
        self._checked_at = clock()
        self.locations: GenerationalCache[str, Location] = GenerationalCache(self.find)
        """Cache of locations by address; replaced with the files."""
        self._refresh()

    def refresh(self) -> None:
        """Check for replaced files, at most once a second."""
        now = self._clock()
        if self._files and now - self._checked_at >= CHECK_SECONDS:
            self._checked_at = now
            self._refresh()

    def unreadable_files(self) -> list[Path]:
        """Files that have never been opened."""
        return [file.path for file in self._files if not file.is_open]

    def find(self, address: str) -> Location:
        """The location of an address; NO_LOCATION unless it is public."""
        if not self._files or is_reserved(address):
            return NO_LOCATION
        locations = (file.find(address) for file in self._files)
        return next((location for location in locations if location.country), NO_LOCATION)

    def _refresh(self) -> None:
        opened = [file.refresh() for file in self._files]
        if any(opened):
            self.locations = GenerationalCache(self.find)
