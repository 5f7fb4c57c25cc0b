"""Checkpoints, and vacuum of files and log entries that no version needs.

Only the keeper does this. Data files that a compaction replaced stay for the table's tombstone
time, so that queries of an older version can finish; files that killed writers left are deleted
after a day.
"""

import logging
import time

from deltalake import DeltaTable

from schemas.runtime.settings import Settings
from stream.storage.delta_commit import LakeTable

log = logging.getLogger(__name__)

CHECKPOINT_VERSIONS = 100
ORPHAN_RETENTION_HOURS = 24
DAY_SECONDS = 86_400.0


class VacuumTask:
    """Writes checkpoints and vacuums each table when it is due."""

    def __init__(self) -> None:
        self._checkpoints: dict[str, int] = {}
        self._vacuums: dict[str, float] = {}
        self._full_vacuums: dict[str, float] = {}

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        handle, name = table.handle, table.table.name
        now = time.monotonic()
        if handle.version() - self._checkpoints.get(name, 0) >= CHECKPOINT_VERSIONS:
            checkpoint(table)
            self._checkpoints[name] = handle.version()
        if now - self._vacuums.setdefault(name, now) > settings.tombstone_minutes * 60 / 3:
            self._vacuums[name] = now
            _vacuum(handle, name, full=False)
        if now - self._full_vacuums.get(name, -DAY_SECONDS) > DAY_SECONDS:
            self._full_vacuums[name] = now
            _vacuum(handle, name, full=True)


def checkpoint(table: LakeTable) -> None:
    """Write a checkpoint, and delete log entries older than the table's log retention."""
    table.refresh()
    table.handle.create_checkpoint()
    table.handle.cleanup_metadata()


def _vacuum(handle: DeltaTable, name: str, full: bool) -> None:
    """Delete files that no version needs; with `full` also files that no version ever contained."""
    deleted = handle.vacuum(
        retention_hours=ORPHAN_RETENTION_HOURS if full else None, dry_run=False, full=full
    )
    if deleted:
        log.info("vacuumed", extra={"table": name, "files": len(deleted), "full": full})
