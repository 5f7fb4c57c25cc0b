"""Drops the rows of a batch that match a tombstone, and counts them in the ledger.

A visitor may be erased after the ledger counted a row as stored and before the table has it. The
batch is then written again, and the ledger keeps for each erasure the offset below which it has
counted drops, as for deleted imports (see `backfill_writer`).
"""

import pyarrow as pa
import pyarrow.compute as pc

from schemas.registry.tombstones import Tombstones
from schemas.tables import Table
from stream.rows.arrow_tables import kept_rows
from stream.rows.erased_rows import ERASED_REASON, erasure_ids
from stream.rows.ledger import LedgerCounts
from stream.storage.delta_commit import OffsetUpdate
from stream.writing.writer_role import CommittedOffsets


def drop_erased(
    rows: pa.Table,
    table: Table,
    tombstones: Tombstones,
    offsets: CommittedOffsets,
    counts: LedgerCounts,
) -> pa.Table:
    """The rows without those of erased visitors, which are counted as dropped."""
    if not tombstones:
        return rows
    ids = erasure_ids(rows, table, tombstones)
    if ids.null_count == len(ids):
        return rows
    erased = rows.filter(pc.is_valid(ids))
    received_ms = pc.divide(erased["received_at"].cast(pa.int64()), 1000)
    columns = (
        ids.drop_null(),
        erased[table.subject_column],
        received_ms,
        erased["kafka_partition"],
        erased["kafka_offset"],
    )
    for erasure_id, subject, ms, partition, offset in zip(
        *(column.to_pylist() for column in columns), strict=True
    ):
        key = f"{offsets.key(partition)}/erasure/{erasure_id}"
        counted = OffsetUpdate(offsets.ledger.next_offset(key), offset + 1)
        counts.add_dropped(key, counted, ERASED_REASON, subject, ms, partition)
    return kept_rows(rows, pc.is_null(ids))
