"""Backfill: the drain of history. What an import sent before counts once, by its line in the file.

An item whose line is below the import's mark is a duplicate; what else comes for an import that was
undone is dropped. Both are in the ledger. All requests of an import lie in one topic partition, in
the order of its lines, so that one number is memory enough for a file of any length.

An undoing may come after the ledger counted rows and before the table took them. The batch is then
given again, and each item is told the same as before (copy, quarantined, good), but the good ones
are dropped. So this comes last, and the ledger keeps how far it knows of it.
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
    """Stores events of the past."""

    pipeline = BACKFILL_PIPELINE
    state_columns = frozenset()  # its lines say what was there before
    catch_up_ledger = staticmethod(warn_ledger_behind)

    def _filter(self, rows: RowBatch, tally: LedgerCounts) -> FilteredRows:
        marks = _ImportWatermarks(self._main.next_offset)
        kept: list[int] = []
        places = [rows.columns[name] for name in OFFSET_COLUMNS]
        for index, (item, envelope, *place) in enumerate(
            zip(rows.items, rows.envelopes, *places, strict=True)
        ):
            line = getattr(item, "line", None)
            if not envelope.import_id or marks.is_new(envelope.import_id, line):
                kept.append(index)
            else:
                tally.add_duplicate(envelope.subject_id, envelope.received_ms, *place)
        fresh = rows.subset(kept)
        fresh.envelopes = _with_own_visitor(fresh)
        return FilteredRows(fresh, marks.moves())

    def _to_stored(self, table: pa.Table, tally: LedgerCounts) -> pa.Table:
        """Partitions below 0, because those of the live topic have the others."""
        table = self._without_deleted_imports(table, tally)
        index = table.schema.get_field_index("kafka_partition")
        below = pc.subtract(pa.scalar(-1, pa.int32()), table.column(index))
        return table.set_column(index, table.schema.field(index), below)

    def _without_deleted_imports(self, table: pa.Table, tally: LedgerCounts) -> pa.Table:
        """The rows without those of imports that were undone."""
        imports = pc.unique(table["import_id"]).drop_null().to_pylist()
        closed = [one for one in imports if self._main.next_offset(watermark_key(one)) >= SEALED]
        if not closed:
            return table
        gone = pc.is_in(table["import_id"], pa.array(closed, pa.string()))
        self._drop(table.filter(gone), tally)
        return table.filter(pc.invert(gone))

    def _drop(self, rows: pa.Table, tally: LedgerCounts) -> None:
        received = pc.divide(rows["received_at"].cast(pa.int64()), 1000)
        columns = rows["import_id"], rows["website_id"], received, *map(rows.column, OFFSET_COLUMNS)
        for one, website, received_ms, partition, offset in zip(
            *(column.to_pylist() for column in columns), strict=True
        ):
            name = f"{self._offset_key(partition)}/{watermark_key(one)}"
            told = name, self._ledger.next_offset(name)
            tally.add_dropped(told, DELETED_IMPORT, website, received_ms, partition, offset)


class _ImportWatermarks:
    """The marks that a batch finds, and where it moves them."""

    def __init__(self, mark: Callable[[str], int]) -> None:
        self._watermark = mark
        self._initial: dict[str, int] = {}
        self._moved: dict[str, int] = {}

    def is_new(self, import_id: str, line: int | None) -> bool:
        """Whether the line is new; from now on it is not. What names no line always passes."""
        mark = self._current(import_id)
        if line is None:
            return True
        if line < watermark_line(mark):
            return False
        self._moved[import_id] = mark - watermark_line(mark) + line + 1
        return True

    def moves(self) -> dict[str, OffsetUpdate]:
        """Also where nothing moves, so that a mark that is closed meanwhile refuses the commit."""
        return {
            watermark_key(name): OffsetUpdate(found, self._moved[name])
            for name, found in self._initial.items()
        }

    def _current(self, import_id: str) -> int:
        if import_id not in self._initial:
            self._initial[import_id] = self._moved[import_id] = self._watermark(
                watermark_key(import_id)
            )
        return self._moved[import_id]


def _with_own_visitor(rows: RowBatch) -> list[Envelope]:
    """Each item in an envelope as from its own visitor: who sends it now was not there."""
    made: dict[tuple[int, str], Envelope] = {}
    found = []
    for item, envelope in zip(rows.items, rows.envelopes, strict=True):
        agent = item.user_agent or "" if isinstance(item, ImportedEvent) else ""
        if (own := made.get((id(envelope), agent))) is None:
            own = made[id(envelope), agent] = Envelope(
                envelope.subject_id,
                envelope.organization_id,
                envelope.received_ms,
                0,
                b"",
                user_agent=agent,
                trusted=not agent,
                import_id=envelope.import_id,
            )
        found.append(own)
    return found
