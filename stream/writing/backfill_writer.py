"""Batch writer for imports: an item counts once, by its line in the file, else by its event id.

An item below the import's watermark (the first line that is not stored yet) is a duplicate; other
items of an import that was deleted are dropped. Both are in the ledger. All requests of an import
are in one topic partition, in line order, so that one number suffices for a file of any length.
What clients of other products send as history has no lines: its event ids are compared like those
of live items, within the import and for a day.

An import may be deleted after the ledger counted its rows and before the table has them. The batch
is then written again: each item is classified as before (duplicate, quarantined or to be stored),
but those to be stored are dropped. So dropping comes last, and the ledger records the offset below
which it has counted drops.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from schemas.envelope import Envelope
from schemas.tables.events import ImportedEvent
from stream.enrich.pipeline import BACKFILL_PIPELINE
from stream.rows.arrow_tables import kept_rows
from stream.rows.ledger import LedgerCounts
from stream.rows.row_batch import RowBatch
from stream.state.derived_event_hashes import EVENT_HASH
from stream.storage.delta_commit import OffsetUpdate
from stream.writing.import_watermarks import SEALED, watermark_key, watermark_line
from stream.writing.ledger_repair import warn_ledger_behind
from stream.writing.writer_role import CommittedOffsets, SelectedRows, WriterRole

DELETED_IMPORT = "import undone"
OFFSET_COLUMNS = ("kafka_partition", "kafka_offset")


def select_new_lines(
    rows: RowBatch, offsets: CommittedOffsets, counts: LedgerCounts
) -> SelectedRows:
    """The items at or above their import's watermark; the others are counted as duplicates."""
    watermarks = _ImportWatermarks(offsets.main.next_offset)
    new: list[int] = []
    columns = [rows.columns[name] for name in OFFSET_COLUMNS]
    for index, (item, envelope, *partition_offset) in enumerate(
        zip(rows.items, rows.envelopes, *columns, strict=True)
    ):
        line = getattr(item, "line", None)
        if not envelope.import_id or watermarks.is_new(envelope.import_id, line):
            new.append(index)
        else:
            counts.add_duplicate(envelope.subject_id, envelope.received_ms, *partition_offset)
    new_rows = rows.subset(new)
    new_rows.envelopes = _with_own_visitor(new_rows)
    return SelectedRows(new_rows, watermarks.updates())


def finish_imported_rows(
    rows: pa.Table, offsets: CommittedOffsets, counts: LedgerCounts
) -> pa.Table:
    """The rows of imports that exist, with negative partitions: the live topic has the others."""
    rows = _drop_deleted_imports(rows, offsets, counts)
    index = rows.schema.get_field_index("kafka_partition")
    negative = pc.subtract(pa.scalar(-1, pa.int32()), rows.column(index))
    return rows.set_column(index, rows.schema.field(index), negative)


BACKFILL_WRITER = WriterRole(
    pipeline=BACKFILL_PIPELINE,
    state_columns=frozenset((EVENT_HASH,)),  # imported items name their sessions
    of_imports=True,
    select_rows=select_new_lines,
    finish_rows=finish_imported_rows,
    catch_up_ledger=warn_ledger_behind,
    drop_reasons=(DELETED_IMPORT,),
)


def _drop_deleted_imports(
    rows: pa.Table, offsets: CommittedOffsets, counts: LedgerCounts
) -> pa.Table:
    """The rows of existing imports; rows of deleted ones are counted as dropped."""
    deleted = [
        import_id
        for import_id in pc.unique(rows["import_id"]).drop_null().to_pylist()
        if offsets.main.next_offset(watermark_key(import_id)) >= SEALED
    ]
    if not deleted:
        return rows
    is_deleted = pc.is_in(rows["import_id"], pa.array(deleted, pa.string()))
    _count_dropped(rows.filter(is_deleted), offsets, counts)
    return kept_rows(rows, pc.invert(is_deleted))


def _count_dropped(rows: pa.Table, offsets: CommittedOffsets, counts: LedgerCounts) -> None:
    received = pc.divide(rows["received_at"].cast(pa.int64()), 1000)
    columns = rows["import_id"], rows["website_id"], received, *map(rows.column, OFFSET_COLUMNS)
    for import_id, website, received_ms, partition, offset in zip(
        *(column.to_pylist() for column in columns), strict=True
    ):
        key = f"{offsets.key(partition)}/{watermark_key(import_id)}"
        counted = OffsetUpdate(offsets.ledger.next_offset(key), offset + 1)
        counts.add_dropped(key, counted, DELETED_IMPORT, website, received_ms, partition)


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
    envelopes: dict[tuple[object, ...], Envelope] = {}
    own_envelopes = []
    for item, envelope in zip(rows.items, rows.envelopes, strict=True):
        user_agent = item.user_agent or "" if isinstance(item, ImportedEvent) else ""
        key = (
            envelope.subject_id,
            envelope.organization_id,
            envelope.received_ms,
            envelope.import_id,
            user_agent,
        )
        if (own := envelopes.get(key)) is None:
            own = envelopes[key] = Envelope(
                envelope.subject_id,
                envelope.organization_id,
                envelope.received_ms,
                0,
                b"",
                user_agent=user_agent,
                trusted=not user_agent,
                import_id=envelope.import_id,
            )
        own_envelopes.append(own)
    return own_envelopes
