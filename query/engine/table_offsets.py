"""Stored offset of a topic partition, from the Delta log.

The newest log entries have it for most partitions; otherwise the table is opened once.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from deltalake.exceptions import DeltaError
from msgspec import Struct

from query.engine.newest_version import unreadable
from schemas.lake.committed_offsets import (
    NO_VERSION,
    LogFollower,
    app_id,
    epoch_app_id,
    identity_app_id,
    log_source,
)
from schemas.lake.delta_table import UnreadableTable
from schemas.lake.log_numbers import open_with_numbers
from schemas.lake.topic_identity import TopicIdentity
from schemas.receipts import Receipt
from schemas.tables import Table


class StoredOffset(Struct, frozen=True):
    """The stored offset of a table in one topic partition."""

    next: int
    """First offset that is not stored."""
    version: int
    """A table version with that offset; -1 when nothing was ever stored."""


class TableOffsets:
    """Follows the logs of the requested tables; safe for concurrent requests."""

    def __init__(self, lake: str, prefix: str, epoch: int) -> None:
        self._lake = lake
        self._prefix = prefix
        self.epoch = epoch
        """Epoch of the settings, for topics without an id."""
        self._readers: dict[str, _LogReader] = {}

    def topic(self, name: str) -> str:
        """The topic's name in Kafka."""
        return self._prefix + name

    async def epoch_of(self, table: Table, receipt: Receipt) -> int | None:
        """The epoch of the receipt's topic in the table; None when the table has no rows of it."""
        if not receipt.topic_id:
            return receipt.epoch
        name = identity_app_id(self.topic(receipt.topic), receipt.topic_id)
        return (await self._lookup(table, name)).next or None

    async def newest_epoch(self, table: Table, topic: str) -> int:
        """The newest epoch of a topic; earlier ones are no longer read."""
        return max(self.epoch, (await self._lookup(table, epoch_app_id(self.topic(topic)))).next)

    async def stored_offset(
        self, table: Table, epoch: int, topic: str, partition: int
    ) -> StoredOffset:
        """The stored offset of a topic partition, read from the log now."""
        return await self._lookup(table, app_id(epoch, self.topic(topic), partition))

    async def stored_offsets(
        self, table: Table, topic: str, identity: TopicIdentity | None, partitions: Iterable[int]
    ) -> Mapping[int, int]:
        """The stored offset of each partition of a topic as it is in Kafka now.

        Partitions without stored rows are missing: all of them when the topic was recreated.
        """
        name = self.topic(topic)
        own = identity_app_id(name, identity.id) if identity else epoch_app_id(name)
        found = await self._lookup_all(table, [own, epoch_app_id(name)])
        epoch, newest = found[own].next, found[epoch_app_id(name)].next
        if newest and not epoch:
            return {}
        by_name = {app_id(epoch or self.epoch, name, number): number for number in partitions}
        stored = await self._lookup_all(table, list(by_name))
        return {by_name[key]: at.next for key, at in stored.items() if at.next}

    async def _lookup(self, table: Table, name: str) -> StoredOffset:
        return (await self._lookup_all(table, [name]))[name]

    async def _lookup_all(self, table: Table, names: Sequence[str]) -> Mapping[str, StoredOffset]:
        """The numbers of several application ids; the log is read once for all of them."""
        reader = self._readers.setdefault(table.name, _LogReader(self._lake, table))
        try:
            async with reader.lock:
                found = await asyncio.to_thread(reader.from_log, names)
            if missing := [name for name in names if name not in found]:
                async with reader.reading:
                    found |= await asyncio.to_thread(reader.from_table, missing)
            return found
        except (DeltaError, OSError, UnreadableTable) as error:
            raise unreadable(table, error) from None


class _TableNumbers(Struct, frozen=True):
    """All offsets of a table at one version."""

    version: int
    offsets: Mapping[str, int]


class _LogReader:
    """The stored offsets of one table: a full read at some version, plus later log entries.

    Opening the table takes a thousand times as long as reading new log entries, so it has a lock of
    its own, which lookups of offsets in new entries never wait for. It happens once: a name that is
    in neither place, such as that of a receipt which somebody made up, has no offset.
    """

    def __init__(self, lake: str, table: Table) -> None:
        self.lock = asyncio.Lock()
        self.reading = asyncio.Lock()
        self._lake = lake
        self._table = table
        self._log = LogFollower(log_source(lake, table))
        self._known: _TableNumbers | None = None
        """Read since the last gap in the log; None until needed."""
        self._gaps = 0

    def from_log(self, names: Iterable[str]) -> dict[str, StoredOffset]:
        """The offsets after reading new log entries; the table has those that are missing."""
        if not self._log.poll():
            self._known = None
            self._gaps += 1
        if self._log.version == NO_VERSION:
            return dict.fromkeys(names, StoredOffset(0, NO_VERSION))
        offsets = ((name, self._offset(name)) for name in names)
        return {
            name: StoredOffset(offset, self._log.version)
            for name, offset in offsets
            if offset is not None
        }

    def _offset(self, name: str) -> int | None:
        offset = self._log.next_offset(name)
        if offset is None and self._known is not None:
            return self._known.offsets.get(name, 0)
        return offset

    def from_table(self, names: Iterable[str]) -> dict[str, StoredOffset]:
        """The offsets according to the table itself."""
        known = self._known or self._read()
        return {name: StoredOffset(known.offsets.get(name, 0), known.version) for name in names}

    def _read(self) -> "_TableNumbers":
        gaps = self._gaps
        opened = open_with_numbers(self._lake, self._table)
        if opened is None:
            raise UnreadableTable(f"table {self._table.name} was removed")
        handle, offsets = opened
        known = _TableNumbers(handle.version(), offsets)
        if gaps == self._gaps:  # else commits may be missing from both
            self._known = known
        return known
