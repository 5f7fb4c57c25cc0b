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
from schemas.lake.committed_offsets import FRESH_SECONDS
from schemas.lake.delta_table import (
    DamagedLog,
    Part,
    UnreadableTable,
    Version,
    guard,
    open_table,
    version_of,
)
from schemas.runtime.clock import Clock
from schemas.tables import Table

log = logging.getLogger(__name__)

NEVER_STORED = -1
"""Number of the version of a table that does not exist yet."""

Number = Annotated[int, Meta(ge=NEVER_STORED, le=2**53)]
AsOf = dict[str, Number] | Number | None
"""Versions to be asked again, as `meta.versions` tells them; one number is that of every table."""

KEPT_MINUTES = 15
MOST_OLD = 16
"""Versions kept at hand, beside the newest of each table."""


class Pinned(Struct, frozen=True):
    """One version of one table, and when it was looked for."""

    version: Version
    looked_ms: int
    """Every commit made before this instant is in the version."""
    old: bool = False
    """Whether it was asked for by its number: what came later is not in it."""

    def parts(self, subject: str | None, start_ms: int, end_ms: int) -> Sequence[Part]:
        """The parts that may hold rows of the subject with start <= ts < end."""
        return [p for p in self.version.parts if p.may_hold(subject, start_ms, end_ms)]


class Shelf:
    """Hands out pinned versions; safe to ask from many requests at once."""

    def __init__(
        self,
        lake: str,
        clock: Clock,
        fresh_seconds: float = FRESH_SECONDS,
        kept_minutes: int = KEPT_MINUTES,
    ) -> None:
        self._lake = lake
        self._clock = clock
        self._fresh = fresh_seconds
        self._kept = kept_minutes
        self._books: dict[str, _Book] = {}
        self._old: dict[tuple[str, int], Version] = {}

    async def pin(self, table: Table, anew: bool = False, least: int = NEVER_STORED) -> Pinned:
        """The newest version; `anew` opens the table again rather than trusting what is kept.

        Never one before `least`, which is known to exist.
        """
        book = self._books.setdefault(table.name, _Book())
        async with book.lock:
            old = time.monotonic() - book.looked > self._fresh
            if anew or old or book.pinned is None or book.pinned.version.number < least:
                if anew:
                    book.handle = None
                started, looked_ms = time.monotonic(), self._clock()
                version = await asyncio.to_thread(self._look, table, book)
                book.pinned, book.looked = Pinned(version, looked_ms), started
            return book.pinned

    async def pin_at(self, table: Table, as_of: AsOf, anew: bool = False) -> Pinned:
        """The version that is asked for; the newest where none is.

        Malformed when there is no such version yet, VersionGone when there is none any more.
        """
        newest = await self.pin(table, anew)
        number = asked_version(as_of, table)
        if number is None or number == newest.version.number:
            return newest
        if number > newest.version.number:
            raise Malformed(
                f"'asOf' is {number} for table '{table.name}', whose newest version is "
                f"{newest.version.number}"
            )
        if number == NEVER_STORED:
            return Pinned(Version(table, NEVER_STORED, ()), 0, old=True)
        version = self._old.get((table.name, number))
        if version is None:
            version = await asyncio.to_thread(self._older, table, number)
            while len(self._old) >= MOST_OLD:
                self._old.pop(next(iter(self._old)))
            self._old[table.name, number] = version
        return Pinned(version, 0, old=True)

    async def refuse_gone(self, as_of: AsOf, tables: Iterable[Table]) -> None:
        """VersionGone when parts of the versions that were asked for have been deleted."""
        for table in tables:
            number = asked_version(as_of, table)
            newest = (await self.pin(table)).version.number
            if number is not None and number != newest:
                raise await asyncio.to_thread(self._gone, table, number)

    def _older(self, table: Table, number: int) -> Version:
        try:
            handle = open_table(self._lake, table, version=number)
        except DeltaError:
            handle = None
        except (OSError, UnreadableTable) as error:
            raise unreadable(table, error) from None
        if handle is None:
            raise self._gone(table, number)
        return version_of(handle, table)

    def _gone(self, table: Table, number: int) -> VersionGone:
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

    def _look(self, table: Table, book: "_Book") -> Version:
        try:
            return self._newest(table, book)
        except (DeltaError, OSError, UnreadableTable) as error:
            raise unreadable(table, error) from None

    def _newest(self, table: Table, book: "_Book") -> Version:
        if book.handle is not None:
            try:
                book.handle.update_incremental()
                guard(book.handle)
            except (DeltaError, OSError):
                book.handle = None  # the log was cleaned past this handle
            else:
                if book.version and book.handle.version() < book.version.number:
                    book.handle = None  # the newest entry is gone: whoever opens it is told
        if book.handle is None:
            book.handle = open_table(self._lake, table)
            book.version = None
        if book.handle is None:
            return Version(table, NEVER_STORED, ())
        if book.version is None or book.version.number != book.handle.version():
            book.version = version_of(book.handle, table)
        return book.version


def asked_version(as_of: AsOf, table: Table) -> int | None:
    """The version of a table that is asked for."""
    return as_of.get(table.name) if isinstance(as_of, dict) else as_of


def unreadable(table: Table, error: Exception) -> Unavailable:
    """The failure that a table cannot be read; the log has the reason."""
    log.error("table not read", extra={"table": table.name, "error": str(error)})
    if isinstance(error, DamagedLog):
        return DataDamaged(f"The log of table '{table.name}' is damaged", damaged=[])
    return Unavailable(f"The table '{table.name}' cannot be read at the moment")


class _Book:
    """What is kept of one table."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.handle: DeltaTable | None = None
        self.version: Version | None = None
        self.pinned: Pinned | None = None
        self.looked = 0.0
