"""Repairs a table's Delta log before it is opened: torn entries, copies, checkpoints.

| damage                                  | repair                                              |
|-----------------------------------------|-----------------------------------------------------|
| the newest entry is torn or empty       | moved aside: it was never acknowledged, because an  |
|                                         | acknowledgement waits for the fsync of the entry;   |
|                                         | Kafka still has the messages, which are stored again|
| an older one is missing, empty or torn, | restored from its copy                              |
| and the keeper copied it                |                                                     |
| the last checkpoint is damaged, and the | moved aside: the entries contain all that it does   |
| entries before it are intact            |                                                     |
| an older one without a copy             | none: the table is not opened until it is repaired  |
"""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from schemas.kinds import lake_tables
from schemas.lake.committed_offsets import log_folder
from schemas.lake.delta_log import (
    COPIES_FOLDER,
    LAST_CHECKPOINT_FILE,
    DamagedEntry,
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
    repaired = []
    newest = max(log_entries(folder), default=-1)
    for version, copy_file in log_entries(folder.parent / COPIES_FOLDER).items():
        if version >= newest >= 0:  # perhaps of a commit that a power cut undid
            copy_file.unlink()
    while moved := move_torn_entry(folder):
        repaired.append(moved)
    if moved := move_damaged_checkpoint(folder):
        repaired.append(moved)
    return [*repaired, *restore_entries(folder)]


def restore_entries(folder: Path) -> list[Path]:
    """Restore damaged entries of a log in use from their copies; returns the restored entries."""
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
    """Move a damaged checkpoint aside when the table can be opened without it."""
    damaged = damaged_checkpoint(folder)
    if damaged is None:
        return None
    previous = max((v for v in checkpoints(folder) if v < damaged.version), default=-1)
    entries = log_entries(folder)
    needed = range(previous + 1, max(entries) + 1)
    if not all(v in entries and is_intact(entries[v].read_bytes()) for v in needed):
        return None
    moved = folder / f"_damaged-{damaged.name}"
    (folder / LAST_CHECKPOINT_FILE).unlink(missing_ok=True)
    if (folder / damaged.name).exists():
        (folder / damaged.name).rename(moved)
    fsync(folder)
    log.error(
        "damaged checkpoint moved aside",
        extra={"moved_to": str(moved), "reason": damaged.problem},
    )
    return moved


def restore_entry(folder: Path, damaged: DamagedEntry) -> bool:
    """Restore an entry from its copy if that is intact; an entry that is intact by now stays."""
    copy_file = folder.parent / COPIES_FOLDER / damaged.name
    try:
        content = read_regular(copy_file)
    except FileNotFoundError:
        return False
    if not is_intact(content):
        return False
    folder.mkdir(exist_ok=True)
    temporary = folder / f"_restored-{damaged.name}"
    temporary.write_bytes(content)
    fsync(temporary)
    if restored := _place_entry(temporary, folder / damaged.name):
        fsync(folder)
        log.error("log entry restored from its copy", extra={"entry": str(folder / damaged.name)})
    temporary.unlink(missing_ok=True)
    return restored


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
