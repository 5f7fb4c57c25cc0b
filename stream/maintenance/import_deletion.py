"""An import is undone: its door is closed, then its rows leave the table in one version.

The door is the import's mark in the table. Once it is closed, no worker commits a row of it any
more, whatever still lies in Kafka: such rows are dropped, and the ledger counts them.
"""

import logging
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.registry import DatabaseError, Import, ImportState, Store, Unknown
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.maintenance.merge_plan import Piece, pieces
from stream.maintenance.rewrite import rewrite
from stream.maintenance.verification import verified
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, Move
from stream.writing.import_watermarks import CLOSED, mark_of

log = logging.getLogger(__name__)


class Undoer:
    """Undoes what the registry says is to be undone."""

    def __init__(self) -> None:
        self._store: Store | None = None

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        if table.table.name != EVENTS.name:
            return
        self._store = self._store or Store(settings.registry_url, "keeper")
        try:
            for one in self._store.list(Import, state=ImportState.UNDOING.value):
                self._undo(table, self._store, one)
        except Unknown as gone:  # deleted with its website, meanwhile
            log.info("import not undone", extra={"reason": str(gone)})
        except DatabaseError as away:
            log.warning("imports not read", extra={"reason": type(away).__name__})
        except Fenced as refused:  # something was faster; the next round tries again
            log.info("import not undone yet", extra={"reason": str(refused)})

    def _undo(self, table: LakeTable, store: Store, one: Import) -> None:
        close(table, one.id)
        holding, rows = held(table, one)
        removed = max(rows, one.removed)  # told before, because a kill after would forget it
        store.note(Import, one.id, now_ms(), removed=removed)
        rewrite(table, holding, lambda batch: without(batch, one.id))
        store.update(Import, one.id, now_ms(), state=ImportState.UNDONE)
        log.info("import undone", extra={"import_id": one.id, "rows": removed})


def close(table: LakeTable, import_id: str) -> None:
    """From now on no row of the import can be committed."""
    table.refresh()
    name = mark_of(import_id)
    found = table.next_offset(name)
    if found < CLOSED:
        table.commit([], {name: Move(found, CLOSED + found)})


def held(table: LakeTable, one: Import) -> tuple[Sequence[Piece], int]:
    """The parts that hold rows of an import, and how many rows."""
    table.refresh()
    found = {
        piece: rows
        for piece in pieces(table.handle, table.table)
        if may_hold(piece, one.website_id) and (rows := count(table, piece, one.id))
    }
    return tuple(found), sum(found.values())


def may_hold(piece: Piece, website_id: str) -> bool:
    """Whether history of the website can lie in a part, by its borders."""
    within = piece.subjects
    return piece.imported and (within is None or within[0] <= website_id <= within[1])


def count(table: LakeTable, piece: Piece, import_id: str) -> int:
    """Rows of an import in one part."""
    with verified(table, [piece]) as (file,):
        column = pq.read_table(file, columns=["import_id"])["import_id"]
    return int(pc.sum(pc.equal(column, import_id)).as_py() or 0)


def without(batch: pa.Table, import_id: str) -> pa.Table:
    """The rows of all others."""
    return batch.filter(pc.invert(pc.fill_null(pc.equal(batch["import_id"], import_id), False)))
