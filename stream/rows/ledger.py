"""The ledger: received = stored + duplicate + quarantined + dropped, by subject and hour.

One row per subject, hour of receipt and batch of a topic partition. A chunk or envelope that cannot
be decoded counts as one received and one quarantined. An item that an earlier row counted as stored
and that is dropped after all is corrected by a row with `dropped` and no `received`, so that its
`stored` is negative. A quarantined item that is sent again is received once: its row has no
`received`, a negative `quarantined`, and what became of it.
"""

from collections import defaultdict
from collections.abc import Mapping

import pyarrow as pa
from msgspec import Struct

from schemas.envelope import Envelope
from schemas.tables import LEDGER
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.storage.delta_commit import OffsetUpdate, OffsetUpdates
from stream.storage.table_schema import arrow_schema

HOUR_MS = 3_600_000


class LedgerEntry(Struct):
    """Counts of one subject and hour in one topic partition."""

    last_offset: int = 0
    received: int = 0
    quarantined: int = 0
    duplicate: int = 0
    dropped: int = 0
    drop_reason: str | None = None

    @property
    def stored(self) -> int:
        return self.received - self.quarantined - self.duplicate - self.dropped


LedgerKey = tuple[str | None, int, int, str]
"""Subject, hour as Unix milliseconds, partition, and why collector or shield dropped the items."""


class LedgerCounts:
    """The ledger entries of a batch; offsets below `since` are in the ledger already."""

    def __init__(self, since: Mapping[int, int]) -> None:
        self._since = since
        self._entries: dict[LedgerKey, LedgerEntry] = defaultdict(LedgerEntry)
        self._drop_updates: dict[str, OffsetUpdate] = {}

    def add_received(
        self, subject: str | None, received_ms: int, partition: int, offset: int, count: int
    ) -> None:
        """Count the items of one envelope as received."""
        if offset >= self._since.get(partition, 0):
            sums = self._entry(subject, received_ms, partition)
            sums.received += count
            sums.last_offset = max(sums.last_offset, offset)

    def add_quarantined(self, entry: QuarantineEntry) -> None:
        """Count one received item as quarantined; a replay takes an earlier one back.

        A replay is received a second time, so that this is taken back as well.
        """
        if entry.counts_as_received and entry.offset >= self._since.get(entry.partition, 0):
            sums = self._entry(entry.subject_id, entry.received_ms, entry.partition)
            if entry.stage is QuarantineStage.REPLAYED:
                sums.quarantined -= 1
                sums.received -= 1
            else:
                sums.quarantined += 1

    def add_duplicate(
        self, subject: str | None, received_ms: int, partition: int, offset: int
    ) -> None:
        """Count one received item as a duplicate."""
        if offset >= self._since.get(partition, 0):
            self._entry(subject, received_ms, partition).duplicate += 1

    def add_refused(self, envelope: Envelope, partition: int, offset: int) -> None:
        """Count the items that the collector dropped by the privacy of their website."""
        if offset >= self._since.get(partition, 0):
            reason = envelope.drop_reason
            sums = self._entry(envelope.subject_id, envelope.received_ms, partition, reason)
            sums.received += envelope.count
            sums.dropped += envelope.count
            sums.drop_reason = reason
            sums.last_offset = max(sums.last_offset, offset)

    def add_shielded(
        self, reason: str, subject: str, received_ms: int, partition: int, offset: int
    ) -> None:
        """Count one received item as dropped by a shield, in the entry of that shield."""
        if offset >= self._since.get(partition, 0):
            received = self._entry(subject, received_ms, partition)
            received.received -= 1
            if not received.received:  # before anything else is counted in it
                del self._entries[subject, received_ms // HOUR_MS * HOUR_MS, partition, ""]
            sums = self._entry(subject, received_ms, partition, reason)
            sums.received += 1
            sums.dropped += 1
            sums.drop_reason = reason
            sums.last_offset = max(sums.last_offset, offset)

    def add_dropped(
        self,
        key: str,
        counted: OffsetUpdate,
        reason: str,
        subject: str,
        received_ms: int,
        partition: int,
    ) -> None:
        """Count the received item before offset `counted.next` as dropped on purpose.

        The ledger keeps under `key` the offset below which such drops are counted already, which is
        `counted.expected` before this batch. From there on it counted such items as stored, which
        this corrects.
        """
        if counted.next > counted.expected:
            sums = self._entry(subject, received_ms, partition)
            sums.dropped += 1
            sums.drop_reason = reason
            sums.last_offset = max(sums.last_offset, counted.next - 1)
            previous = self._drop_updates.get(key, counted)
            self._drop_updates[key] = OffsetUpdate(
                counted.expected, max(previous.next, counted.next)
            )

    @property
    def drop_updates(self) -> OffsetUpdates:
        """Updates of the offsets below which drops are counted, for the commit of these rows."""
        return self._drop_updates

    def stored_count(self) -> int:
        """How many rows the topic's table must get, by these counts."""
        return sum(sums.stored for sums in self._entries.values())

    def dropped_by_reason(self) -> Mapping[str, int]:
        """How many items were dropped, by reason."""
        dropped: dict[str, int] = defaultdict(int)
        for sums in self._entries.values():
            if sums.drop_reason is not None:
                dropped[sums.drop_reason] += sums.dropped
        return dropped

    def rows(self, topic: str, epoch: int) -> pa.Table:
        """The entries as rows of the ledger table."""
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

    def _entry(
        self, subject: str | None, received_ms: int, partition: int, refused: str = ""
    ) -> LedgerEntry:
        return self._entries[subject, received_ms // HOUR_MS * HOUR_MS, partition, refused]
