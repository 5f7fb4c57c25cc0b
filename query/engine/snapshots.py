"""Shelf: the newest version of each table, looked at again when it is older than 200 ms.

One handle per table is kept open and brought forward; a handle that the retention of the log has
left behind is opened anew. A question pins what it got and never sees anything else.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from typing import Annotated

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from msgspec import Meta, Struct

from schemas.errors import DataDamaged, Malformed, Unavailable, VersionGone
from schemas.lake.committed_offsets import SNAPSHOT_MAX_AGE_SECONDS
from schemas.lake.delta_table import (
    DamagedLog,
    DataFile,
    TableVersion,
    UnreadableTable,
    check_protocol,
    open_table,
    read_version,
)
from schemas.runtime.clock import Clock
from schemas.tables import Table

log = logging.getLogger(__name__)

NEVER_STORED = -1
"""Number of the version of a table that does not exist yet."""

VersionNumber = Annotated[int, Meta(ge=NEVER_STORED, le=2**53)]
AsOf = dict[str, VersionNumber] | VersionNumber | None
"""Versions to be asked again, as `meta.versions` tells them; one number is that of every table."""

RETENTION_MINUTES = 15
MAX_OLD_VERSIONS = 16
"""Versions kept at hand, beside the newest of each table."""


class PinnedVersion(Struct, frozen=True):
    """One version of one table, and when it was looked for."""

    version: TableVersion
    checked_ms: int
    """Every commit made before this instant is in the version."""
    is_historic: bool = False
    """Whether it was asked for by its number: what came later is not in it."""

    def data_files(self, subject: str | None, start_ms: int, end_ms: int) -> Sequence[DataFile]:
        """The parts that may hold rows of the subject with start <= ts < end."""
        return [p for p in self.version.data_files if p.may_contain(subject, start_ms, end_ms)]


class SnapshotCache:
    """Hands out pinned versions; safe to ask from many requests at once."""

    def __init__(
        self,
        lake: str,
        clock: Clock,
        fresh_seconds: float = SNAPSHOT_MAX_AGE_SECONDS,
        kept_minutes: int = RETENTION_MINUTES,
    ) -> None:
        self._lake = lake
        self._clock = clock
        self._fresh = fresh_seconds
        self._kept = kept_minutes
        self._entries: dict[str, _CacheEntry] = {}
        self._old: dict[tuple[str, int], TableVersion] = {}

    async def pin(
        self, table: Table, anew: bool = False, least: int = NEVER_STORED
    ) -> PinnedVersion:
        """The newest version; `anew` opens the table again rather than trusting what is kept.

        Never one before `least`, which is known to exist.
        """
        book = self._entries.setdefault(table.name, _CacheEntry())
        async with book.lock:
            old = time.monotonic() - book.checked_at > self._fresh
            if anew or old or book.pinned is None or book.pinned.version.number < least:
                if anew:
                    book.handle = None
                started, looked_ms = time.monotonic(), self._clock()
                version = await asyncio.to_thread(self._refresh, table, book)
                book.pinned, book.checked_at = PinnedVersion(version, looked_ms), started
            return book.pinned

    async def pin_at(self, table: Table, as_of: AsOf, anew: bool = False) -> PinnedVersion:
        """The version that is asked for; the newest where none is.

        Malformed when there is no such version yet, VersionGone when there is none any more.
        """
        newest = await self.pin(table, anew)
        number = requested_version(as_of, table)
        if number is None or number == newest.version.number:
            return newest
        if number > newest.version.number:
            raise Malformed(
                f"'asOf' is {number} for table '{table.name}', whose newest version is "
                f"{newest.version.number}"
            )
        if number == NEVER_STORED:
            return PinnedVersion(TableVersion(table, NEVER_STORED, ()), 0, is_historic=True)
        version = self._old.get((table.name, number))
        if version is None:
            version = await asyncio.to_thread(self._older, table, number)
            while len(self._old) >= MAX_OLD_VERSIONS:
                self._old.pop(next(iter(self._old)))
            self._old[table.name, number] = version
        return PinnedVersion(version, 0, is_historic=True)

    async def raise_if_vacuumed(self, as_of: AsOf, tables: Iterable[Table]) -> None:
        """VersionGone when parts of the versions that were asked for have been deleted."""
        for table in tables:
            number = requested_version(as_of, table)
            newest = (await self.pin(table)).version.number
            if number is not None and number != newest:
                raise await asyncio.to_thread(self._version_gone, table, number)

    def _older(self, table: Table, number: int) -> TableVersion:
        try:
            handle = open_table(self._lake, table, version=number)
        except DeltaError:
            handle = None
        except (OSError, UnreadableTable) as error:
            raise unreadable(table, error) from None
        if handle is None:
            raise self._version_gone(table, number)
        return read_version(handle, table)

    def _version_gone(self, table: Table, number: int) -> VersionGone:
        """Parts of a version last for a while after it is not the newest any more."""
        handle = open_table(self._lake, table)
        commits = [(c["timestamp"], c["version"]) for c in handle.history()] if handle else []
        since = self._clock() - self._kept * 60_000
        sure = [version for at, version in commits if at <= since]
        oldest = max(sure, default=min((version for _, version in commits), default=0))
        return VersionGone(
            f"Version {number} of table '{table.name}' is not kept any more; "
            f"the oldest that can surely be asked is {max(oldest, number + 1)}"
        )

    def _refresh(self, table: Table, book: "_CacheEntry") -> TableVersion:
        try:
            return self._newest(table, book)
        except (DeltaError, OSError, UnreadableTable) as error:
            raise unreadable(table, error) from None

    def _newest(self, table: Table, book: "_CacheEntry") -> TableVersion:
        if book.handle is not None:
            try:
                book.handle.update_incremental()
                check_protocol(book.handle)
            except (DeltaError, OSError):
                book.handle = None  # the log was cleaned past this handle
            else:
                if book.version and book.handle.version() < book.version.number:
                    book.handle = None  # the newest entry is gone: whoever opens it is told
        if book.handle is None:
            book.handle = open_table(self._lake, table)
            book.version = None
        if book.handle is None:
            return TableVersion(table, NEVER_STORED, ())
        if book.version is None or book.version.number != book.handle.version():
            book.version = read_version(book.handle, table)
        return book.version


def requested_version(as_of: AsOf, table: Table) -> int | None:
    """The version of a table that is asked for."""
    return as_of.get(table.name) if isinstance(as_of, dict) else as_of


def unreadable(table: Table, error: Exception) -> Unavailable:
    """The failure that a table cannot be read; the log has the reason."""
    log.error("table not read", extra={"table": table.name, "error": str(error)})
    if isinstance(error, DamagedLog):
        return DataDamaged(f"The log of table '{table.name}' is damaged", damaged=[])
    return Unavailable(f"The table '{table.name}' cannot be read at the moment")


class _CacheEntry:
    """What is kept of one table."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.handle: DeltaTable | None = None
        self.version: TableVersion | None = None
        self.pinned: PinnedVersion | None = None
        self.checked_at = 0.0
