"""Shelf: the newest version of each table, looked at again when it is older than 200 ms.

One handle per table is kept open and brought forward; a handle that the retention of the log has
left behind is opened anew. A question pins what it got and never sees anything else.
"""

import asyncio
import logging
import time
from collections.abc import Sequence

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.clock import Clock
from schemas.failures import Unavailable
from schemas.lake import Part, UnreadableTable, Version, guard, open_table, version_of
from schemas.tables import Table

log = logging.getLogger(__name__)

FRESH_SECONDS = 0.2
NEVER_STORED = -1
"""Number of the version of a table that does not exist yet."""


class Pinned(Struct, frozen=True):
    """One version of one table, and when it was looked for."""

    version: Version
    looked_ms: int
    """Every commit made before this instant is in the version."""

    def parts(self, subject: str | None, start_ms: int, end_ms: int) -> Sequence[Part]:
        """The parts that may hold rows of the subject with start <= ts < end."""
        return [p for p in self.version.parts if p.may_hold(subject, start_ms, end_ms)]


class Shelf:
    """Hands out pinned versions; safe to ask from many requests at once."""

    def __init__(self, lake: str, clock: Clock, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._lake = lake
        self._clock = clock
        self._fresh = fresh_seconds
        self._books: dict[str, _Book] = {}

    async def pin(self, table: Table, anew: bool = False) -> Pinned:
        """The newest version; `anew` opens the table again rather than trusting what is kept."""
        book = self._books.setdefault(table.name, _Book())
        async with book.lock:
            if anew or book.pinned is None or time.monotonic() - book.looked > self._fresh:
                if anew:
                    book.handle = None
                started, looked_ms = time.monotonic(), self._clock()
                version = await asyncio.to_thread(self._look, table, book)
                book.pinned, book.looked = Pinned(version, looked_ms), started
            return book.pinned

    def _look(self, table: Table, book: "_Book") -> Version:
        try:
            return self._newest(table, book)
        except (DeltaError, OSError, UnreadableTable) as error:
            log.error("table not read", extra={"table": table.name, "error": str(error)})
            raise Unavailable(f"The table '{table.name}' cannot be read at the moment") from None

    def _newest(self, table: Table, book: "_Book") -> Version:
        if book.handle is not None:
            try:
                book.handle.update_incremental()
                guard(book.handle)
            except (DeltaError, OSError):
                book.handle = None  # the log was cleaned past this handle
        if book.handle is None:
            book.handle = open_table(self._lake, table)
            book.version = None
        if book.handle is None:
            return Version(table, NEVER_STORED, ())
        if book.version is None or book.version.number != book.handle.version():
            book.version = version_of(book.handle, table)
        return book.version


class _Book:
    """What is kept of one table."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.handle: DeltaTable | None = None
        self.version: Version | None = None
        self.pinned: Pinned | None = None
        self.looked = 0.0
