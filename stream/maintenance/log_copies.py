"""Copies of a table's log entries since the last checkpoint, so that a damaged one can be put back.

An entry is a few kilobytes and the only witness of what a version added and removed. The copies lie
beside the log. An entry that got lost or damaged while everything runs is put back from them here;
at a start `stream.storage.log_repair` does so.
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


def copy_log(table: LakeTable, settings: Settings) -> None:  # noqa: ARG001 - as every chore
    """Put back what is damaged, copy what is new, and drop what a checkpoint holds by now."""
    if not isinstance(table.store, LocalStorage):
        return
    log, copies = table.store.root / LOG_FOLDER, table.store.root / COPIES_FOLDER
    copies.mkdir(exist_ok=True)
    restore_entries(log)
    there, copied = log_entries(log), log_entries(copies)
    since = last_checkpoint(log)
    for version in sorted(there.keys() - copied.keys()):
        if version > since and is_intact(entry := there[version].read_bytes()):
            waiting = copies / f"_{there[version].name}"
            waiting.write_bytes(entry)
            waiting.replace(copies / there[version].name)
    note_checkpoint(table.store.root / LOG_FOLDER)
    for version, copy in copied.items():
        if version <= since:
            copy.unlink()


def note_checkpoint(log: Path) -> None:
    """Note the checksum of the newest checkpoint, once; those of older ones go."""
    newest = last_checkpoint(log)
    noted, file = checkpoint_checksum_path(log, newest), log / checkpoint_name(newest)
    if newest < 0 or noted.exists() or not file.exists():
        return
    waiting = noted.with_name(f"_{noted.name}")
    waiting.write_text(file_checksum(file))
    waiting.replace(noted)
    for old in noted.parent.glob("[0-9]*.sha256"):
        if old != noted:
            old.unlink()
