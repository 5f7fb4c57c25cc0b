"""Checkpoints, and the end of files and log entries that no version needs any more.

The keeper alone does this. Parts that a compaction replaced stay for the table's tombstone time, so
that a query that holds an older version can finish; what killed writers left goes after a day.
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
    """Remembers when each table was tidied."""

    def __init__(self) -> None:
        self._checkpoints: dict[str, int] = {}
        self._vacuums: dict[str, float] = {}
        self._sweeps: dict[str, float] = {}

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        handle, name = table.handle, table.table.name
        now = time.monotonic()
        if handle.version() - self._checkpoints.get(name, 0) >= CHECKPOINT_VERSIONS:
            checkpoint(table)
            self._checkpoints[name] = handle.version()
        if now - self._vacuums.setdefault(name, now) > settings.tombstone_minutes * 60 / 3:
            self._vacuums[name] = now
            _vacuum(handle, name, full=False)
        if now - self._sweeps.get(name, -DAY_SECONDS) > DAY_SECONDS:
            self._sweeps[name] = now
            _vacuum(handle, name, full=True)


def checkpoint(table: LakeTable) -> None:
    """Write the state as of now, and drop log entries that are older than the table keeps them."""
    table.refresh()
    table.handle.create_checkpoint()
    table.handle.cleanup_metadata()


def _vacuum(handle: DeltaTable, name: str, full: bool) -> None:
    """Delete files no version needs; `full` also those that none ever named."""
    gone = handle.vacuum(
        retention_hours=ORPHAN_RETENTION_HOURS if full else None, dry_run=False, full=full
    )
    if gone:
        log.info("vacuumed", extra={"table": name, "files": len(gone), "full": full})
