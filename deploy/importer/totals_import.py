"""Stores the totals of a file as the rows of an import, in one commit."""

from deploy.importer.import_records import ImportConflict, exclusive_import, save_progress
from deploy.importer.import_run import ImportProgress
from deploy.importer.totals_file import Totals, with_owner
from schemas.registry import Import, RegistryStore
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from stream.runtime.errors import Fenced
from stream.writing.imported_totals import store_totals


def store_import(settings: Settings, store: RegistryStore, record: Import, totals: Totals) -> None:
    """Store all rows or none; called again after a kill, it stores them once."""
    with exclusive_import(settings, record):
        try:
            rows = with_owner(totals, record.website_id, record.id, now_ms())
            store_totals(settings, record.id, rows)
        except Fenced:
            raise ImportConflict(f"{record.id} was undone meanwhile; run it again") from None
        save_progress(store, record, ImportProgress(0, totals.lines, len(totals.rejects)))
