"""The account of everything received: received = stored + duplicate + quarantined + dropped.

One row per subject, hour of receipt and batch of a topic partition. What cannot be taken apart (a
chunk, an envelope) counts as one received and one quarantined. What an earlier row counted as
stored, and what is dropped nevertheless, is taken back: `dropped` without `received`, and so
`stored` below 0.
"""

from collections import defaultdict
from collections.abc import Mapping

import pyarrow as pa
from msgspec import Struct

from schemas.tables import LEDGER
from stream.rows.quarantine import QuarantineEntry
from stream.storage.delta_commit import OffsetUpdate, OffsetUpdates
from stream.storage.table_schema import arrow_schema

HOUR_MS = 3_600_000


class LedgerEntry(Struct):
    """Sums of one subject and hour in one topic partition."""

    last_offset: int = 0
    received: int = 0
    quarantined: int = 0
    duplicate: int = 0
    dropped: int = 0
    drop_reason: str | None = None

    @property
    def stored(self) -> int:
        return self.received - self.quarantined - self.duplicate - self.dropped


LedgerKey = tuple[str | None, int, int]
"""Subject, hour as Unix milliseconds, topic partition."""


class LedgerCounts:
    """Counts a batch; offsets below `since` are in the ledger already."""

    def __init__(self, since: Mapping[int, int]) -> None:
        self._since = since
        self._entries: dict[LedgerKey, LedgerEntry] = defaultdict(LedgerEntry)
        self._known_drops: dict[str, OffsetUpdate] = {}

    def add_received(
        self, subject: str | None, received_ms: int, partition: int, offset: int, count: int
    ) -> None:
        """Items of one envelope."""
        if offset >= self._since.get(partition, 0):
            sums = self._entry(subject, received_ms, partition)
            sums.received += count
            sums.last_offset = max(sums.last_offset, offset)

    def add_quarantined(self, entry: QuarantineEntry) -> None:
        """One of the received that is not stored."""
        if entry.counts_as_received and entry.offset >= self._since.get(entry.partition, 0):
            sums = self._entry(entry.subject_id, entry.received_ms, entry.partition)
            sums.quarantined += 1

    def add_duplicate(
        self, subject: str | None, received_ms: int, partition: int, offset: int
    ) -> None:
        """One of the received that the table holds already."""
        if offset >= self._since.get(partition, 0):
            self._entry(subject, received_ms, partition).duplicate += 1

    def add_dropped(
        self,
        told: tuple[str, int],
        reason: str,
        subject: str,
        received_ms: int,
        partition: int,
        offset: int,
    ) -> None:
        """One of the received that is left out on purpose.

        `told`: under which name the ledger keeps below which offset it knows of such drops. What it
        holds from there on, it holds as stored, and this is taken back.
        """
        name, known = told
        if offset >= known:
            sums = self._entry(subject, received_ms, partition)
            sums.dropped += 1
            sums.drop_reason = reason
            sums.last_offset = max(sums.last_offset, offset)
            last = self._known_drops.get(name, OffsetUpdate(known, known))
            self._known_drops[name] = OffsetUpdate(known, max(last.next, offset + 1))

    @property
    def known_drops(self) -> OffsetUpdates:
        """What the ledger knows of drops once it holds these rows: for the same commit."""
        return self._known_drops

    def stored_count(self) -> int:
        """How many rows the topic's table must get, by this account."""
        return sum(sums.stored for sums in self._entries.values())

    def rows(self, topic: str, epoch: int) -> pa.Table:
        """The accounts as rows of the ledger."""
        entries = list(self._entries.items())
        return pa.table(
            {
                "subject_id": [key[0] for key, _ in entries],
                "ts": [key[1] * 1000 for key, _ in entries],
                "topic": [topic] * len(entries),
                "kafka_partition": [key[2] for key, _ in entries],
                "kafka_offset": [sums.last_offset for _, sums in entries],
                "seq": list(range(len(entries))),
                "received": [sums.received for _, sums in entries],
                "stored": [sums.stored for _, sums in entries],
                "duplicate": [sums.duplicate for _, sums in entries],
                "quarantined": [sums.quarantined for _, sums in entries],
                "dropped": [sums.dropped for _, sums in entries],
                "drop_reason": [sums.drop_reason for _, sums in entries],
                "epoch": [epoch] * len(entries),
            },
            schema=arrow_schema(LEDGER),
        )

    def _entry(self, subject: str | None, received_ms: int, partition: int) -> LedgerEntry:
        return self._entries[subject, received_ms // HOUR_MS * HOUR_MS, partition]
