"""Places: country, region and city of a cut address, from .mmdb files.

A file that was replaced is opened anew, without a restart; while the new one is broken or gone, the
old one goes on. It must be replaced by a rename: what is written into the file itself changes under
the readers that have it mapped.
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
"""What tells one state of a file from another: inode, size, time; None when there is none."""


class GeoFile:
    """One .mmdb file, and how it was when it was last looked at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: FileState = None
        self._reader: maxminddb.Reader | None = None

    def refresh(self) -> bool:
        """Open the file when it is another one than before; whether it was opened."""
        mark = self._stat()
        if mark == self._state:
            return False
        self._state = mark
        try:
            self._reader = maxminddb.open_database(self.path)
        except UNREADABLE as broken:
            log.warning("places not read", extra={"path": str(self.path), "reason": str(broken)})
            return False
        built = self._reader.metadata().build_epoch
        log.info("places read", extra={"path": str(self.path), "built": built})
        return True

    @property
    def is_open(self) -> bool:
        """Whether it could be opened, at any time."""
        return self._reader is not None

    def find(self, address: str) -> Location:
        """What the file says of an address; nowhere when it has none of that version."""
        if self._reader is None:
            return NO_LOCATION
        try:
            found = self._reader.get(address)
        except ValueError:  # an IPv6 address, and a file of IPv4 alone
            return NO_LOCATION
        return parse_record(found) if isinstance(found, dict) else NO_LOCATION

    def _stat(self) -> FileState:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


class GeoDatabase:
    """Looks addresses up; the first file that knows a country answers. Without any: nowhere."""

    def __init__(
        self, paths: Sequence[Path] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._files = [GeoFile(path) for path in paths]
        self._clock = clock
        self._checked_at = clock()
        self.locations: GenerationalCache[str, Location] = GenerationalCache(self.find)
        """Places by address, as long as the files are the same."""
        self._refresh()

    def refresh(self) -> None:
        """Look for files that were replaced, at most once a second."""
        now = self._clock()
        if self._files and now - self._checked_at >= CHECK_SECONDS:
            self._checked_at = now
            self._refresh()

    def unreadable_files(self) -> list[Path]:
        """Files that could not be opened so far."""
        return [file.path for file in self._files if not file.is_open]

    def find(self, address: str) -> Location:
        """The place of an address; nowhere for what is no public address."""
        if not self._files or is_reserved(address):
            return NO_LOCATION
        answers = (file.find(address) for file in self._files)
        return next((place for place in answers if place.country), NO_LOCATION)

    def _refresh(self) -> None:
        opened = [file.refresh() for file in self._files]
        if any(opened):
            self.locations = GenerationalCache(self.find)
