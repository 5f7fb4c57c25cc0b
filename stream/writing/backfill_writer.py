"""Batch writer for imports: an item counts once, by its line in the file.

An item below the import's watermark (the first line that is not stored yet) is a duplicate; other
items of an import that was deleted are dropped. Both are in the ledger. All requests of an import
are in one topic partition, in line order, so that one number suffices for a file of any length.

An import may be deleted after the ledger counted its rows and before the table has them. The batch
is then written again: each item gets the same verdict as before (duplicate, quarantined, good), but
the good ones are dropped. So dropping comes last, and the ledger records up to which offset it
knows of the drops.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from schemas.envelope import Envelope
from schemas.items import ImportedEvent
from stream.enrich.backfill_pipeline import BACKFILL_PIPELINE
from stream.rows.ledger import LedgerCounts
from stream.rows.row_batch import RowBatch
from stream.storage.delta_commit import OffsetUpdate
from stream.writing.batch_writer import BatchWriter, FilteredRows
from stream.writing.import_watermarks import SEALED, watermark_key, watermark_line
from stream.writing.ledger_repair import warn_ledger_behind

DELETED_IMPORT = "import undone"
OFFSET_COLUMNS = ("kafka_partition", "kafka_offset")


class BackfillWriter(BatchWriter):
    """Stores imported events."""

    pipeline = BACKFILL_PIPELINE
    state_columns = frozenset()  # line numbers replace deduplication, and files name their sessions
    catch_up_ledger = staticmethod(warn_ledger_behind)

    def _filter(self, rows: RowBatch, counts: LedgerCounts) -> FilteredRows:
        watermarks = _ImportWatermarks(self._main.next_offset)
        kept: list[int] = []
        offsets = [rows.columns[name] for name in OFFSET_COLUMNS]
        for index, (item, envelope, *partition_offset) in enumerate(
            zip(rows.items, rows.envelopes, *offsets, strict=True)
        ):
            line = getattr(item, "line", None)
            if not envelope.import_id or watermarks.is_new(envelope.import_id, line):
                kept.append(index)
            else:
                counts.add_duplicate(envelope.subject_id, envelope.received_ms, *partition_offset)
        new_rows = rows.subset(kept)
        new_rows.envelopes = _with_own_visitor(new_rows)
        return FilteredRows(new_rows, watermarks.updates())

    def _to_stored(self, table: pa.Table, counts: LedgerCounts) -> pa.Table:
        """The rows to store, with negative partitions: the live topic has the others."""
        table = self._without_deleted_imports(table, counts)
        index = table.schema.get_field_index("kafka_partition")
        negative = pc.subtract(pa.scalar(-1, pa.int32()), table.column(index))
        return table.set_column(index, table.schema.field(index), negative)

    def _without_deleted_imports(self, table: pa.Table, counts: LedgerCounts) -> pa.Table:
        """The rows without those of deleted imports."""
        imports = pc.unique(table["import_id"]).drop_null().to_pylist()
        sealed = [
            import_id
            for import_id in imports
            if self._main.next_offset(watermark_key(import_id)) >= SEALED
        ]
        if not sealed:
            return table
        is_deleted = pc.is_in(table["import_id"], pa.array(sealed, pa.string()))
        self._drop(table.filter(is_deleted), counts)
        return table.filter(pc.invert(is_deleted))

    def _drop(self, rows: pa.Table, counts: LedgerCounts) -> None:
        received = pc.divide(rows["received_at"].cast(pa.int64()), 1000)
        columns = rows["import_id"], rows["website_id"], received, *map(rows.column, OFFSET_COLUMNS)
        for import_id, website, received_ms, partition, offset in zip(
            *(column.to_pylist() for column in columns), strict=True
        ):
            key = f"{self._offset_key(partition)}/{watermark_key(import_id)}"
            known = key, self._ledger.next_offset(key)
            counts.add_dropped(known, DELETED_IMPORT, website, received_ms, partition, offset)


class _ImportWatermarks:
    """The import watermarks before a batch, and those after it."""

    def __init__(self, watermark: Callable[[str], int]) -> None:
        self._watermark = watermark
        self._initial: dict[str, int] = {}
        self._moved: dict[str, int] = {}

    def is_new(self, import_id: str, line: int | None) -> bool:
        """Whether the line is new, and mark it as seen. An item without a line is always new."""
        watermark = self._current(import_id)
        if line is None:
            return True
        if line < watermark_line(watermark):
            return False
        self._moved[import_id] = watermark - watermark_line(watermark) + line + 1
        return True

    def updates(self) -> dict[str, OffsetUpdate]:
        """Updates of all watermarks, also unmoved ones, so that a seal refuses the commit."""
        return {
            watermark_key(import_id): OffsetUpdate(initial, self._moved[import_id])
            for import_id, initial in self._initial.items()
        }

    def _current(self, import_id: str) -> int:
        if import_id not in self._initial:
            self._initial[import_id] = self._moved[import_id] = self._watermark(
                watermark_key(import_id)
            )
        return self._moved[import_id]


def _with_own_visitor(rows: RowBatch) -> list[Envelope]:
    """An envelope per user agent of the file, not that of the client that sends the file."""
    by_user_agent: dict[tuple[int, str], Envelope] = {}
    envelopes = []
    for item, envelope in zip(rows.items, rows.envelopes, strict=True):
        user_agent = item.user_agent or "" if isinstance(item, ImportedEvent) else ""
        if (own := by_user_agent.get((id(envelope), user_agent))) is None:
            own = by_user_agent[id(envelope), user_agent] = Envelope(
                envelope.subject_id,
                envelope.organization_id,
                envelope.received_ms,
                0,
                b"",
                user_agent=user_agent,
                trusted=not user_agent,
                import_id=envelope.import_id,
            )
        envelopes.append(own)
    return envelopes
