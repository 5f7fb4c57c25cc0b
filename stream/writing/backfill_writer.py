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
from schemas.items import HistoricEvent
from stream.enrich.backfill_pipeline import HISTORY_LINE
from stream.rows.ledger import Tally
from stream.rows.row_batch import Rows
from stream.storage.delta_commit import Move
from stream.writing.batch_writer import Drain, Sifted
from stream.writing.import_watermarks import CLOSED, line_of, mark_of
from stream.writing.ledger_repair import tell_behind

UNDONE = "import undone"
PLACE = ("kafka_partition", "kafka_offset")


class Backfill(Drain):
    """Stores events of the past."""

    line = HISTORY_LINE
    remembered = frozenset()  # its lines say what was there before
    level_ledger = staticmethod(tell_behind)

    def _sift(self, rows: Rows, tally: Tally) -> Sifted:
        marks = _Marks(self._main.next_offset)
        kept: list[int] = []
        places = [rows.columns[name] for name in PLACE]
        for index, (item, envelope, *place) in enumerate(
            zip(rows.items, rows.envelopes, *places, strict=True)
        ):
            line = getattr(item, "line", None)
            if not envelope.import_id or marks.passes(envelope.import_id, line):
                kept.append(index)
            else:
                tally.duplicate(envelope.subject_id, envelope.received_ms, *place)
        fresh = rows.only(kept)
        fresh.envelopes = _as_sent(fresh)
        return Sifted(fresh, marks.moves())

    def _placed(self, table: pa.Table, tally: Tally) -> pa.Table:
        """Partitions below 0, because those of the live topic have the others."""
        table = self._left(table, tally)
        index = table.schema.get_field_index("kafka_partition")
        below = pc.subtract(pa.scalar(-1, pa.int32()), table.column(index))
        return table.set_column(index, table.schema.field(index), below)

    def _left(self, table: pa.Table, tally: Tally) -> pa.Table:
        """The rows without those of imports that were undone."""
        imports = pc.unique(table["import_id"]).drop_null().to_pylist()
        closed = [one for one in imports if self._main.next_offset(mark_of(one)) >= CLOSED]
        if not closed:
            return table
        gone = pc.is_in(table["import_id"], pa.array(closed, pa.string()))
        self._drop(table.filter(gone), tally)
        return table.filter(pc.invert(gone))

    def _drop(self, rows: pa.Table, tally: Tally) -> None:
        received = pc.divide(rows["received_at"].cast(pa.int64()), 1000)
        columns = rows["import_id"], rows["website_id"], received, *map(rows.column, PLACE)
        for one, website, received_ms, partition, offset in zip(
            *(column.to_pylist() for column in columns), strict=True
        ):
            name = f"{self._name(partition)}/{mark_of(one)}"
            told = name, self._ledger.next_offset(name)
            tally.drop(told, UNDONE, website, received_ms, partition, offset)


class _Marks:
    """The marks that a batch finds, and where it moves them."""

    def __init__(self, mark: Callable[[str], int]) -> None:
        self._mark = mark
        self._found: dict[str, int] = {}
        self._now: dict[str, int] = {}

    def passes(self, import_id: str, line: int | None) -> bool:
        """Whether the line is new; from now on it is not. What names no line always passes."""
        mark = self._at(import_id)
        if line is None:
            return True
        if line < line_of(mark):
            return False
        self._now[import_id] = mark - line_of(mark) + line + 1
        return True

    def moves(self) -> dict[str, Move]:
        """Also where nothing moves, so that a mark that is closed meanwhile refuses the commit."""
        return {mark_of(name): Move(found, self._now[name]) for name, found in self._found.items()}

    def _at(self, import_id: str) -> int:
        if import_id not in self._found:
            self._found[import_id] = self._now[import_id] = self._mark(mark_of(import_id))
        return self._now[import_id]


def _as_sent(rows: Rows) -> list[Envelope]:
    """Each item in an envelope as from its own visitor: who sends it now was not there."""
    made: dict[tuple[int, str], Envelope] = {}
    found = []
    for item, envelope in zip(rows.items, rows.envelopes, strict=True):
        agent = item.user_agent or "" if isinstance(item, HistoricEvent) else ""
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
