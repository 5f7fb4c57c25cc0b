"""Copies of a table's log entries since the last checkpoint, for repair.

An entry is a few kilobytes and the only record of what a version added and removed. The copies are
stored beside the log. A lost or damaged entry is restored from them here while the stream runs,
and by `stream.storage.log_repair` at a start.
"""

from pathlib import Path

from schemas.lake.data_files import file_checksum
from schemas.lake.delta_log import (
    COPIES_FOLDER,
    LOG_FOLDER,
    checkpoint_checksum_path,
    checkpoint_name,
    is_intact,
    last_checkpoint,
    log_entries,
)
from schemas.runtime.settings import Settings
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import restore_entries
from stream.storage.object_store import LocalStorage


def copy_log(table: LakeTable, settings: Settings) -> None:  # noqa: ARG001 - a Task
    """Restore damaged entries, copy new ones, and delete copies that a checkpoint supersedes."""
    if not isinstance(table.store, LocalStorage):
        return
    log, copies = table.store.root / LOG_FOLDER, table.store.root / COPIES_FOLDER
    copies.mkdir(exist_ok=True)
    restore_entries(log)
    entries, copied = log_entries(log), log_entries(copies)
    since = last_checkpoint(log)
    for version in sorted(entries.keys() - copied.keys()):
        if version > since and is_intact(entry := entries[version].read_bytes()):
            temporary = copies / f"_{entries[version].name}"
            temporary.write_bytes(entry)
            temporary.replace(copies / entries[version].name)
    record_checkpoint_checksum(table.store.root / LOG_FOLDER)
    for version, copy in copied.items():
        if version <= since:
            copy.unlink()


def record_checkpoint_checksum(log: Path) -> None:
    """Store the checksum of the newest checkpoint, once, and delete those of older ones."""
    newest = last_checkpoint(log)
    checksum_file, checkpoint = checkpoint_checksum_path(log, newest), log / checkpoint_name(newest)
    if newest < 0 or checksum_file.exists() or not checkpoint.exists():
        return
    temporary = checksum_file.with_name(f"_{checksum_file.name}")
    temporary.write_text(file_checksum(checkpoint))
    temporary.replace(checksum_file)
    for old in checksum_file.parent.glob("[0-9]*.sha256"):
        if old != checksum_file:
            old.unlink()
