"""Repairs a table's Delta log before it is opened: torn entries, copies, checkpoints.

| damage                                  | repair                                              |
|-----------------------------------------|-----------------------------------------------------|
| the newest entry is torn or empty       | moved aside: it was never acknowledged, because an  |
|                                         | acknowledgement waits for the fsync of the entry;   |
|                                         | Kafka still has the messages, which are stored again|
| an older one or the last checkpoint is  | restored from its copy                              |
| missing or damaged, also the whole log  |                                                     |
| the last checkpoint and its copy are    | moved aside: the checkpoint before it and the       |
| damaged                                 | entries since then contain all that it does         |
| one of these has no intact copy         | none: the table is not opened until it is repaired  |
"""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from schemas.kinds import lake_tables
from schemas.lake.committed_offsets import log_folder
from schemas.lake.data_files import checksum, file_problem
from schemas.lake.delta_log import (
    COPIES_FOLDER,
    LAST_CHECKPOINT_FILE,
    DamagedEntry,
    checkpoint_checksum,
    checkpoint_name,
    checkpoints,
    damaged_checkpoint,
    damaged_entries,
    is_intact,
    log_entries,
    named,
)
from schemas.runtime import log_setup
from schemas.runtime.environment import load_settings
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.files import fsync, read_regular
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)


def repair_logs(settings: Settings) -> Mapping[str, Sequence[DamagedEntry]]:
    """Repair what is safe in every local table's log; the entries still damaged, by table."""
    damaged_tables: dict[str, Sequence[DamagedEntry]] = {}
    for table in lake_tables():
        folder = log_folder(settings.lake_url, table)
        if folder is None or not folder.parent.is_dir():
            continue
        repair_log(folder)
        if damaged := damaged_entries(folder):
            damaged_tables[table.name] = damaged
            log.critical(
                "log entries are damaged; the table is not opened",
                extra={"table": table.name, "entries": named(damaged)},
            )
    return damaged_tables


def repair_log(folder: Path) -> list[Path]:
    """Repair what is safe in one log; returns the files that were moved aside or restored."""
    repaired, copies = [], folder.parent / COPIES_FOLDER
    newest = max(log_entries(folder), default=-1)
    for version, copy_file in log_entries(copies).items():
        if version >= newest >= 0:  # perhaps of a commit that a power cut undid
            copy_file.unlink()
    for version in checkpoints(copies):
        if version > newest >= 0:
            (copies / checkpoint_name(version)).unlink(missing_ok=True)
    while moved := move_torn_entry(folder):
        repaired.append(moved)
    repaired += restore_entries(folder)
    if moved := move_damaged_checkpoint(folder):
        repaired.append(moved)
    return repaired


def restore_entries(folder: Path) -> list[Path]:
    """Restore damaged files of a log in use from their copies; returns the restored files."""
    damaged = damaged_entries(folder)
    return [folder / entry.name for entry in damaged if restore_entry(folder, entry)]


def move_torn_entry(folder: Path) -> Path | None:
    """Move the newest entry aside when it is torn; returns its new path."""
    entries = log_entries(folder)
    if not entries or is_intact(entries[max(entries)].read_bytes()):
        return None
    newest = entries[max(entries)]
    moved = newest.with_name(f"_torn-{newest.name}")
    newest.rename(moved)
    (folder.parent / COPIES_FOLDER / newest.name).unlink(missing_ok=True)
    fsync(folder)
    log.error("torn log entry moved aside", extra={"entry": str(newest), "moved_to": moved.name})
    return moved


def move_damaged_checkpoint(folder: Path) -> Path | None:
    """Move a damaged checkpoint aside when the table can be opened without it.

    The checkpoint before it and the entries since then are restored where only a copy is left.
    """
    damaged = damaged_checkpoint(folder)
    if damaged is None:
        return None
    copies = folder.parent / COPIES_FOLDER
    older = [v for v in (*checkpoints(folder), *checkpoints(copies)) if v < damaged.version]
    previous = max(older, default=-1)
    newest = max(*log_entries(folder), *log_entries(copies), damaged.version)
    needed = [DamagedEntry(version, "") for version in range(previous + 1, newest + 1)]
    if older:
        needed.append(DamagedEntry(previous, "", checkpoint_name(previous)))
    missing = [entry for entry in needed if not _is_in_log(folder, entry)]
    if any(_intact_copy(folder, entry) is None for entry in missing):
        return None
    for entry in missing:
        restore_entry(folder, entry)
    moved = folder / f"_damaged-{damaged.name}"
    for path in (folder / LAST_CHECKPOINT_FILE, copies / damaged.name):
        path.unlink(missing_ok=True)
    if (folder / damaged.name).exists():
        (folder / damaged.name).rename(moved)
    fsync(folder)
    log.error(
        "damaged checkpoint moved aside",
        extra={"moved_to": str(moved), "reason": damaged.problem},
    )
    return moved


def restore_entry(folder: Path, damaged: DamagedEntry) -> bool:
    """Restore a file of the log from its copy if that is intact; an entry intact by now stays."""
    if damaged.name == LAST_CHECKPOINT_FILE:  # only a note: without it the newest one is looked for
        (folder / damaged.name).rename(folder / f"_damaged-{damaged.name}")
        return True
    content = _intact_copy(folder, damaged)
    if content is None:
        return False
    folder.mkdir(exist_ok=True)
    temporary = folder / f"_restored-{damaged.name}"
    temporary.write_bytes(content)
    fsync(temporary)
    if damaged.checkpoint:  # only the keeper writes any, and each version has one content
        restored = bool(temporary.replace(folder / damaged.name))
    else:
        restored = _place_entry(temporary, folder / damaged.name)
    if restored:
        fsync(folder)
        log.error("log file restored from its copy", extra={"file": str(folder / damaged.name)})
    temporary.unlink(missing_ok=True)
    return restored


def _intact_copy(folder: Path, entry: DamagedEntry) -> bytes | None:
    try:
        content = read_regular(folder.parent / COPIES_FOLDER / entry.name)
    except FileNotFoundError:
        return None
    if entry.checkpoint:
        intact = checksum(content) == checkpoint_checksum(folder, entry.version)
    else:
        intact = is_intact(content)
    return content if intact else None


def _is_in_log(folder: Path, entry: DamagedEntry) -> bool:
    file = folder / entry.name
    if not file.exists():  # a checkpoint of several parts is of another writer
        return bool(entry.checkpoint) and entry.version in checkpoints(folder)
    if entry.checkpoint:
        return file_problem(file, None, checkpoint_checksum(folder, entry.version)) is None
    return is_intact(file.read_bytes())


def _place_entry(temporary: Path, entry: Path) -> bool:
    """Put the restored entry in place unless a commit wrote it first; whether it did."""
    if entry.exists():
        damaged = not is_intact(entry.read_bytes())
        return damaged and bool(temporary.replace(entry))
    try:
        os.link(temporary, entry)
    except FileExistsError:
        return False
    return True


def main() -> None:
    """`python -m stream.storage.log_repair`: examine and repair the logs of all tables."""
    settings = load_settings()
    set_umask(settings)
    log_setup.set_up_logging(settings)
    repair_logs(settings)


if __name__ == "__main__":
    main()
