"""An import is undone: its door is closed, then its rows leave the table in one version.

The door is the import's mark in the table. Once it is closed, no worker commits a row of it any
more, whatever still lies in Kafka: such rows are dropped, and the ledger counts them.
"""

import logging
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.registry import DatabaseError, Import, ImportState, RecordNotFound, RegistryStore
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.rewrite import rewrite_files
from stream.maintenance.verification import verified_files
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.writing.import_watermarks import SEALED, watermark_key

log = logging.getLogger(__name__)


class ImportDeletion:
    """Undoes what the registry says is to be undone."""

    def __init__(self) -> None:
        self._store: RegistryStore | None = None

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        if table.table.name != EVENTS.name:
            return
        self._store = self._store or RegistryStore(settings.registry_url, "keeper")
        try:
            for one in self._store.list(Import, state=ImportState.UNDOING.value):
                self._delete(table, self._store, one)
        except RecordNotFound as gone:  # deleted with its website, meanwhile
            log.info("import not undone", extra={"reason": str(gone)})
        except DatabaseError as away:
            log.warning("imports not read", extra={"reason": type(away).__name__})
        except Fenced as refused:  # something was faster; the next round tries again
            log.info("import not undone yet", extra={"reason": str(refused)})

    def _delete(self, table: LakeTable, store: RegistryStore, one: Import) -> None:
        seal_import(table, one.id)
        holding, rows = files_of_import(table, one)
        removed = max(rows, one.removed)  # told before, because a kill after would forget it
        store.update_progress(Import, one.id, now_ms(), removed=removed)
        rewrite_files(table, holding, lambda batch: without_import(batch, one.id))
        store.update(Import, one.id, now_ms(), state=ImportState.UNDONE)
        log.info("import undone", extra={"import_id": one.id, "rows": removed})


def seal_import(table: LakeTable, import_id: str) -> None:
    """From now on no row of the import can be committed."""
    table.refresh()
    name = watermark_key(import_id)
    found = table.next_offset(name)
    if found < SEALED:
        table.commit([], {name: OffsetUpdate(found, SEALED + found)})


def files_of_import(table: LakeTable, one: Import) -> tuple[Sequence[LiveDataFile], int]:
    """The parts that hold rows of an import, and how many rows."""
    table.refresh()
    found = {
        piece: rows
        for piece in live_data_files(table.handle, table.table)
        if may_contain(piece, one.website_id) and (rows := count_rows(table, piece, one.id))
    }
    return tuple(found), sum(found.values())


def may_contain(piece: LiveDataFile, website_id: str) -> bool:
    """Whether history of the website can lie in a part, by its borders."""
    within = piece.subjects
    return piece.is_imported and (within is None or within[0] <= website_id <= within[1])


def count_rows(table: LakeTable, piece: LiveDataFile, import_id: str) -> int:
    """Rows of an import in one part."""
    with verified_files(table, [piece]) as (file,):
        column = pq.read_table(file, columns=["import_id"])["import_id"]
    return int(pc.sum(pc.equal(column, import_id)).as_py() or 0)


def without_import(batch: pa.Table, import_id: str) -> pa.Table:
    """The rows of all others."""
    return batch.filter(pc.invert(pc.fill_null(pc.equal(batch["import_id"], import_id), False)))
