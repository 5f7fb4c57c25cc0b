"""Prepares a batch for its commit: decoded, enriched and converted to the table's schema."""

from collections.abc import Sequence

import pyarrow as pa
from msgspec import Struct

from schemas.kinds import Kind
from stream.enrich.pipeline import enrich_rows
from stream.enrich.rules.lookups import Lookups
from stream.rows.arrow_tables import to_arrow, with_epoch
from stream.rows.decoder import decode_batch
from stream.rows.kafka_message import KafkaMessage
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry
from stream.storage.delta_commit import OffsetUpdates
from stream.writing.shielded_rows import drop_shielded
from stream.writing.writer_role import CommittedOffsets, WriterRole


class PreparedBatch(Struct, frozen=True):
    """The rows of a batch in the table's schema, and the entries of those that failed."""

    rows: pa.Table
    quarantined: Sequence[QuarantineEntry]
    replayed: Sequence[QuarantineEntry]
    """An entry for each item that is sent again from the quarantine."""
    watermarks: OffsetUpdates


def prepare_batch(
    kind: Kind,
    messages: Sequence[KafkaMessage],
    lookups: Lookups,
    role: WriterRole,
    offsets: CommittedOffsets,
    counts: LedgerCounts,
) -> PreparedBatch:
    """The rows of the messages as an Arrow table; intermediate values are freed on return."""
    decoded = decode_batch(kind, messages, counts)
    selected = role.select_rows(decoded.rows, offsets, counts)
    enriched, failed = enrich_rows(selected.rows, lookups, role.pipeline)
    rows, unconvertible = to_arrow(enriched)
    if not role.of_imports:
        rows = drop_shielded(rows, enriched, unconvertible, lookups, counts)
    quarantined = [*decoded.quarantined, *failed, *unconvertible]
    stored_rows = with_epoch(rows, offsets.epoch)
    return PreparedBatch(stored_rows, quarantined, decoded.replayed, selected.watermarks)
