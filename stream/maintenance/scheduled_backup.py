"""Backs up lake and registry to the target of the settings, and prunes it.

Runs in a thread of the active keeper: a target that is slow or away delays no other task. The
newest backup of the target says when the next is due, so that a new keeper goes on with the
schedule of the last one.
"""

import logging
import threading

import pyarrow as pa

from schemas.lake.delta_table import UnreadableTable
from schemas.registry import DatabaseError, first_line
from schemas.runtime.backup_state import BackupState, write_backup_state
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import BACKUP_DUE, LAST_BACKUP
from stream.backup.file_store import file_store
from stream.backup.kept_backups import NothingPruned, prune
from stream.backup.lake_backup import BackupFailed, NothingToBackUp, Pace, take_backup
from stream.backup.manifest import ManifestDamaged, newest_manifest

log = logging.getLogger(__name__)

POLL_SECONDS = 30.0
RETRY_SECONDS = 600.0
"""After a backup that failed."""
KEPT_LAST = 3
HOUR_MS = 3_600_000
ERRORS = (
    BackupFailed,
    DatabaseError,
    ManifestDamaged,
    NothingPruned,
    OSError,
    UnreadableTable,
    pa.ArrowException,
)


def run_scheduled_backups(settings: Settings, stop: threading.Event) -> None:
    """Back up whenever it is due, until stopped; a failure is logged and tried again."""
    interval_ms = round(settings.backup_hours * HOUR_MS)
    if not settings.backup_target or not interval_ms:
        return
    started_ms, last_ms = now_ms(), None
    while True:
        pause, problem = POLL_SECONDS, ""
        try:
            if last_ms is None:
                newest = newest_manifest(file_store(settings.backup_target))
                last_ms = newest.taken_ms if newest else 0
            _report(settings, last_ms, max(last_ms + interval_ms, started_ms))
            if now_ms() >= last_ms + interval_ms:
                last_ms, problem = back_up(settings)
        except NothingToBackUp:
            pass  # a first start
        except ERRORS as error:
            is_database = isinstance(error, DatabaseError)
            pause, problem = RETRY_SECONDS, first_line(error) if is_database else str(error)
            log.warning("backup failed", extra={"reason": problem})
        _report(settings, last_ms or 0, max((last_ms or 0) + interval_ms, started_ms), problem)
        if stop.wait(pause):
            return


def back_up(settings: Settings) -> tuple[int, str]:
    """Write one backup and prune the target; when it was taken, and what the lake lacks."""
    target = file_store(settings.backup_target)
    result = take_backup(settings, target, Pace(settings.backup_mb))
    fields = {"backup": result.manifest.id, "files": result.files, "copied": result.copied_files}
    log.info("backed up", extra={**fields, "seconds": result.seconds})
    if settings.backup_keep_days:
        pruned = prune(target, settings.backup_keep_days, KEPT_LAST)
        if pruned.backups or pruned.files:
            fields = {"backups": len(pruned.backups), "files": pruned.files}
            log.info("old backups removed", extra=fields)
    missing = len(result.manifest.problems)
    problem = f"{missing} data files are damaged or missing in the lake" if missing else ""
    return result.manifest.taken_ms, problem


def _report(settings: Settings, last_ms: int, due_ms: int, problem: str = "") -> None:
    LAST_BACKUP.set(last_ms / 1000)
    BACKUP_DUE.set(due_ms / 1000)
    state = BackupState(settings.backup_target, last_ms, due_ms, problem)
    try:
        write_backup_state(settings.data, state)
    except OSError as error:  # a full disk; the metrics say the same
        log.warning("state of backups not written", extra={"reason": str(error)})
