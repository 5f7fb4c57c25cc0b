"""Positions: how far each table is in each topic partition, and up to which version that is known.

The log's newest entries say it; what they do not say, the table itself does, once.
"""

import asyncio
from typing import Any

from deltalake.exceptions import DeltaError
from msgspec import Struct

from query.engine.snapshots import unreadable
from schemas.errors import Unavailable
from schemas.lake.committed_offsets import (
    NO_VERSION,
    LogFollower,
    app_id,
    epoch_app_id,
    identity_app_id,
    log_folder,
)
from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.receipts import Receipt
from schemas.tables import Table

MAX_ABSENT_KEYS = 1_000
"""Names that a table does not know and that are remembered."""


class StoredOffset(Struct, frozen=True):
    """How far a table is in one topic partition."""

    next: int
    """First offset that it does not hold."""
    version: int
    """A version in which that is so; -1 when nothing was ever stored."""


class TableOffsets:
    """Follows the tables that are asked about; safe to ask from many requests at once."""

    def __init__(self, lake: str, prefix: str, epoch: int) -> None:
        self._lake = lake
        self._prefix = prefix
        self.epoch = epoch
        """What the settings say, for topics without an id."""
        self._readers: dict[str, _LogReader] = {}

    def topic(self, name: str) -> str:
        """The topic's name in Kafka."""
        return self._prefix + name

    async def epoch_of(self, table: Table, receipt: Receipt) -> int | None:
        """Under which epoch the table knows the receipt's topic; None when it never met it."""
        if not receipt.topic_id:
            return receipt.epoch
        name = identity_app_id(self.topic(receipt.topic), receipt.topic_id)
        return (await self._lookup(table, name)).next or None

    async def newest_epoch(self, table: Table, topic: str) -> int:
        """The present making of a topic; those before will not be read any more."""
        return max(self.epoch, (await self._lookup(table, epoch_app_id(self.topic(topic)))).next)

    async def stored_offset(
        self, table: Table, epoch: int, topic: str, partition: int
    ) -> StoredOffset:
        """The position in a topic partition, by a look that begins now."""
        return await self._lookup(table, app_id(epoch, self.topic(topic), partition))

    async def _lookup(self, table: Table, name: str) -> StoredOffset:
        followed = self._readers.setdefault(table.name, _LogReader(self._lake, table))
        try:
            async with followed.lock:
                seen = await asyncio.to_thread(followed.from_log, name)
            if seen is not None:
                return seen
            async with followed.reading:
                return await asyncio.to_thread(followed.from_table, name)
        except (DeltaError, OSError, UnreadableTable) as error:
            raise unreadable(table, error) from None


class _LogReader:
    """One table.

    Reading the table itself takes a thousand times as long as a look at its log, and old receipts
    can name what never was. So it has a lock of its own, in which nobody waits who
    asks for what is known; and no such name pushes a real one out.
    """

    def __init__(self, lake: str, table: Table) -> None:
        folder = log_folder(lake, table)
        if folder is None:
            raise Unavailable("Receipts can be looked up in a lake on a local disk only")
        self.lock = asyncio.Lock()
        self.reading = asyncio.Lock()
        self._lake = lake
        self._table = table
        self._log = LogFollower(folder)
        self._known: dict[str, int] = {}
        """What the table itself said since the last gap."""
        self._absent: dict[str, None] = {}
        """What it did not know then, the oldest first."""
        self._gaps = 0

    def from_log(self, name: str) -> StoredOffset | None:
        """What is known after a look at the log; None when the table has to be read."""
        if not self._log.poll():
            self._known.clear()
            self._absent.clear()
            self._gaps += 1
        if self._log.version == NO_VERSION:
            return StoredOffset(0, NO_VERSION)
        moved = self._log.next_offset(name)
        if moved is None:
            moved = self._known.get(name, 0 if name in self._absent else None)
        return None if moved is None else StoredOffset(moved, self._log.version)

    def from_table(self, name: str) -> StoredOffset:
        """What the table itself says."""
        gaps = self._gaps
        handle: Any = open_table(self._lake, self._table)
        moved = handle.transaction_version(name)
        if gaps == self._gaps:  # else moves may have come that neither the log nor this tells
            self._remember(name, moved)
        return StoredOffset(moved or 0, handle.version())

    def _remember(self, name: str, moved: int | None) -> None:
        if moved is not None:
            self._known[name] = moved
            return
        self._absent[name] = None
        if len(self._absent) > MAX_ABSENT_KEYS:
            del self._absent[next(iter(self._absent))]
