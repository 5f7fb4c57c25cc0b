"""Commits a batch's entries to the quarantine and the ledger, before its rows are committed.

Both keep next offsets of their own. A batch that is repeated after a crash adds only the entries
that an earlier attempt did not commit.
"""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from msgspec import Struct

from schemas.lake.committed_offsets import app_id
from stream.rows.arrow_tables import received_column, split_by_day
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry, quarantine_rows
from stream.runtime.errors import LedgerMismatch
from stream.storage.delta_commit import LakeTable, OffsetUpdate, OffsetUpdates
from stream.storage.parquet_writer import NewDataFile, write_data_file


class BatchOffsets(Struct, frozen=True):
    """The next offsets that a batch moves, in one epoch of a topic."""

    topic: str
    epoch: int
    updates: Mapping[int, OffsetUpdate]
    """Next offsets by partition, as in the main table."""

    def by_key(self) -> dict[str, OffsetUpdate]:
        """The updates by application id."""
        return {app_id(self.epoch, self.topic, p): update for p, update in self.updates.items()}

    def next_offsets(self, table: LakeTable) -> dict[int, int]:
        """The next offsets that a table has of these partitions."""
        return next_offsets(table, self.topic, self.epoch, self.updates)


def next_offsets(
    table: LakeTable, topic: str, epoch: int, partitions: Iterable[int]
) -> dict[int, int]:
    """The next offsets that a table has of these partitions."""
    return {p: table.next_offset(app_id(epoch, topic, p)) for p in partitions}


def commit_quarantine(
    table: LakeTable, entries: Sequence[QuarantineEntry], offsets: BatchOffsets
) -> None:
    """Commit the entries that an earlier attempt did not commit."""
    if not entries:
        return
    table.refresh()
    committed = offsets.next_offsets(table)
    new_entries = [entry for entry in entries if entry.offset >= committed[entry.partition]]
    if new_entries:
        _commit(table, quarantine_rows(offsets.topic, offsets.epoch, new_entries), offsets, {})


def commit_ledger(
    table: LakeTable, counts: LedgerCounts, offsets: BatchOffsets, stored: int
) -> None:
    """Commit the counts; LedgerMismatch when they do not match the number of stored rows."""
    committed = offsets.next_offsets(table)
    is_complete = all(committed[p] <= update.expected for p, update in offsets.updates.items())
    if is_complete and counts.stored_count() != stored:
        raise LedgerMismatch(
            f"{offsets.topic}: {stored} rows, but the ledger counts {counts.stored_count()}"
        )
    rows = counts.rows(offsets.topic, offsets.epoch)
    if rows.num_rows:
        _commit(table, rows, offsets, counts.drop_updates)


def write_files(table: LakeTable, rows: pa.Table) -> list[NewDataFile]:
    """Write the rows as data files, one for each day of receipt."""
    return [
        write_data_file(table.store, table.table, day, day_rows)
        for day, day_rows in split_by_day(rows, received_column(table.table))
    ]


def _commit(
    table: LakeTable, rows: pa.Table, offsets: BatchOffsets, other_updates: OffsetUpdates
) -> None:
    committed = offsets.next_offsets(table)
    updates = {
        app_id(offsets.epoch, offsets.topic, p): OffsetUpdate(committed[p], update.next)
        for p, update in offsets.updates.items()
        if update.next > committed[p]
    }
    table.commit(write_files(table, rows), {**updates, **other_updates})
