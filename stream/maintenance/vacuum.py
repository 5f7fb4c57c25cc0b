"""Checkpoints, and vacuum of files and log entries that no version needs.

Only the keeper does this. Data files that a compaction replaced stay for the retention of the
table, so that queries of an older version can finish; files that killed writers left are deleted
after a day, or after the retention if that is longer.
"""

import logging
import time

from deltalake import DeltaTable

from schemas.lake.delta_log import LOG_FOLDER, last_checkpoint
from schemas.lake.retention import TableRetention, table_retention
from schemas.runtime.settings import Settings
from stream.storage.delta_commit import LakeTable
from stream.storage.object_store import LocalStorage

log = logging.getLogger(__name__)

CHECKPOINT_VERSIONS = 100
ORPHAN_RETENTION_HOURS = 24
DAY_SECONDS = 86_400.0
MAX_INTERVAL_SECONDS = 3_600.0
"""A vacuum deletes what the table's log says; only a full one lists the folder."""


class VacuumTask:
    """Writes checkpoints and vacuums each table when it is due."""

    def __init__(self) -> None:
        self._checkpoints: dict[str, int] = {}
        self._vacuums: dict[str, float] = {}
        self._full_vacuums: dict[str, float] = {}

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        handle, name = table.handle, table.table.name
        now, retention = time.monotonic(), table_retention(settings)
        if name not in self._vacuums:
            apply_retention(table, retention)
        interval = min(retention.file_minutes * 60 / 3, MAX_INTERVAL_SECONDS)
        last = self._checkpoints.setdefault(name, _last_checkpoint(table))
        if handle.version() - last >= CHECKPOINT_VERSIONS:
            checkpoint(table)
            self._checkpoints[name] = handle.version()
        if now - self._vacuums.setdefault(name, now) > interval:
            self._vacuums[name] = now
            handle.update_incremental()
            _vacuum(handle, name)
        if now - self._full_vacuums.get(name, -DAY_SECONDS) > DAY_SECONDS:
            self._full_vacuums[name] = now
            handle.update_incremental()
            _vacuum(handle, name, orphan_hours(retention))


def checkpoint(table: LakeTable) -> None:
    """Write a checkpoint, and delete log entries older than the table's log retention."""
    table.refresh()
    table.handle.create_checkpoint()
    table.handle.cleanup_metadata()


def _last_checkpoint(table: LakeTable) -> int:
    """Its version, of a table on a disk: written again it would have another checksum."""
    if not isinstance(table.store, LocalStorage):
        return 0
    return max(last_checkpoint(table.store.root / LOG_FOLDER), 0)


def apply_retention(table: LakeTable, retention: TableRetention) -> None:
    """Set the table's properties, which another setting or an earlier build may have made."""
    table.refresh()
    configuration = table.handle.metadata().configuration
    if not retention.properties.items() <= configuration.items():
        table.handle.alter.set_table_properties(dict(retention.properties))
        log.info("retention changed", extra={"table": table.table.name, **retention.properties})


def orphan_hours(retention: TableRetention) -> int:
    """Age of files that no version contains; replaced files are deleted at this age as well."""
    return max(ORPHAN_RETENTION_HOURS, -(-retention.file_minutes // 60))


def _vacuum(handle: DeltaTable, name: str, orphan_hours: int | None = None) -> None:
    """Delete files that no version needs; with an age also files that no version ever contained."""
    full = orphan_hours is not None
    deleted = handle.vacuum(retention_hours=orphan_hours, dry_run=False, full=full)
    if deleted:
        log.info("vacuumed", extra={"table": name, "files": len(deleted), "full": full})
