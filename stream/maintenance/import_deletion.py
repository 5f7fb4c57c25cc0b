"""Deletes an import: seals its watermark, then removes its rows in one version of each table.

Once the import's watermark in a table is sealed, no row of the import can be committed to it:
messages that are still in Kafka are dropped, and the ledger counts them.
"""

import logging
import time
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.lake.committed_offsets import SNAPSHOT_MAX_AGE_SECONDS
from schemas.registry import DatabaseError, Import, ImportState, RecordNotFound, RegistryStore
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, IMPORTED_TOTALS
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.rewrite import rewrite_files
from stream.maintenance.verification import verified_files
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.writing.import_watermarks import SEALED, watermark_key

log = logging.getLogger(__name__)


class ImportDeletion:
    """Deletes the imports that the registry lists for deletion."""

    def __init__(self) -> None:
        self._store: RegistryStore | None = None
        self._totals: LakeTable | None = None

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        if table.table.name != EVENTS.name:
            return
        self._store = self._store or RegistryStore(settings.registry_url, "keeper")
        try:
            for import_ in self._store.list(Import, state=ImportState.UNDOING.value):
                self._delete(table, settings, self._store, import_)
        except RecordNotFound as error:  # deleted with its website meanwhile
            log.info("import not deleted", extra={"reason": str(error)})
        except DatabaseError as error:
            log.warning("imports not readable", extra={"reason": type(error).__name__})
        except Fenced as error:  # another commit went first; the next cycle retries
            log.info("import not deleted yet", extra={"reason": str(error)})

    def _delete(
        self, table: LakeTable, settings: Settings, store: RegistryStore, import_: Import
    ) -> None:
        totals = self._totals = self._totals or LakeTable(settings, IMPORTED_TOTALS)
        files_by_table = []
        for imported in (table, totals):
            seal_import(imported, import_.id)
            files_by_table.append((imported, *files_of_import(imported, import_)))
        removed = max(sum(rows for _, _, rows in files_by_table), import_.removed)
        # Stored before the rewrite: after a kill behind it, the rows could not be counted again.
        store.update_progress(Import, import_.id, now_ms(), removed=removed)
        for imported, data_files, _ in files_by_table:
            rewrite_files(imported, data_files, lambda batch: without_import(batch, import_.id))
        time.sleep(SNAPSHOT_MAX_AGE_SECONDS)  # undone: no query that starts then sees its rows
        store.update(Import, import_.id, now_ms(), state=ImportState.UNDONE)
        log.info("import deleted", extra={"import_id": import_.id, "rows": removed})


def seal_import(table: LakeTable, import_id: str) -> None:
    """Seal the watermark: from now on no row of the import can be committed."""
    table.refresh()
    key = watermark_key(import_id)
    watermark = table.next_offset(key)
    if watermark < SEALED:
        table.commit([], {key: OffsetUpdate(watermark, SEALED + watermark)})


def files_of_import(table: LakeTable, import_: Import) -> tuple[Sequence[LiveDataFile], int]:
    """The data files with rows of an import, and the number of those rows."""
    table.refresh()
    rows_by_file = {
        data_file: rows
        for data_file in live_data_files(table.handle, table.table)
        if may_contain(table, data_file, import_.website_id)
        and (rows := count_rows(table, data_file, import_.id))
    }
    return tuple(rows_by_file), sum(rows_by_file.values())


def may_contain(table: LakeTable, data_file: LiveDataFile, website_id: str) -> bool:
    """Whether a file may have imported rows of the website, by its min/max statistics."""
    subjects = data_file.subjects
    is_imported = data_file.is_imported or table.table is IMPORTED_TOTALS
    return is_imported and (subjects is None or subjects[0] <= website_id <= subjects[1])


def count_rows(table: LakeTable, data_file: LiveDataFile, import_id: str) -> int:
    """Rows of an import in one data file."""
    with verified_files(table, [data_file]) as (file,):
        column = pq.read_table(file, columns=["import_id"])["import_id"]
    return int(pc.sum(pc.equal(column, import_id)).as_py() or 0)


def without_import(batch: pa.Table, import_id: str) -> pa.Table:
    """The rows that do not belong to the import."""
    return batch.filter(pc.invert(pc.fill_null(pc.equal(batch["import_id"], import_id), False)))
