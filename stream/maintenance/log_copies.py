"""Copies of a table's last two checkpoints and of the log entries since the older one, for repair.

They are a few kilobytes each, and the only record of what the versions contain. The copies are
stored beside the log. A lost or damaged file is restored from them here while the stream runs, and
by `stream.storage.log_repair` at a start.
"""

from pathlib import Path

from schemas.lake.data_files import checksum
from schemas.lake.delta_log import (
    COPIES_FOLDER,
    LOG_FOLDER,
    checkpoint_checksum,
    checkpoint_checksum_path,
    checkpoint_name,
    checkpoints,
    is_intact,
    last_checkpoint,
    log_entries,
)
from schemas.runtime.files import write_atomically
from schemas.runtime.settings import Settings
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import restore_entries
from stream.storage.object_store import LocalStorage


def copy_log(table: LakeTable, settings: Settings) -> None:  # noqa: ARG001 - a Task
    """Restore damaged files, copy new ones, and delete copies that are no longer needed."""
    if not isinstance(table.store, LocalStorage):
        return
    log, copies = table.store.root / LOG_FOLDER, table.store.root / COPIES_FOLDER
    copies.mkdir(exist_ok=True)
    restore_entries(log)
    copy_checkpoint(log)
    older = checkpoints(copies)[:-1]
    since = max(older, default=-1)
    entries, copied = log_entries(log), log_entries(copies)
    for version in sorted(entries.keys() - copied.keys()):
        if version > since and is_intact(entry := entries[version].read_bytes()):
            write_atomically(copies / entries[version].name, entry)
    for version, copy in copied.items():
        if version <= since:
            copy.unlink()
    for version in older[:-1]:
        (copies / checkpoint_name(version)).unlink(missing_ok=True)
    for file in copies.glob("[0-9]*.sha256"):
        if file.name < checkpoint_checksum_path(log, max(since, 0)).name:
            file.unlink()


def copy_checkpoint(log: Path) -> None:
    """Copy the newest checkpoint and record its checksum, once; a damaged one is not copied."""
    version = last_checkpoint(log)
    checkpoint = log / checkpoint_name(version)
    copy = log.parent / COPIES_FOLDER / checkpoint.name
    if version < 0 or copy.exists() or not checkpoint.exists():
        return
    content = checkpoint.read_bytes()
    if checkpoint_checksum(log, version) not in (None, checksum(content)):
        return
    write_atomically(checkpoint_checksum_path(log, version), checksum(content).encode())
    write_atomically(copy, content)
