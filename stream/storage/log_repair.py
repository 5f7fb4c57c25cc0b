"""At every start, before a table is opened: the logs are examined, and what is safe is mended.

| what is found                           | what is done                                        |
|-----------------------------------------|-----------------------------------------------------|
| the newest entry is torn or empty       | put aside: it was never acknowledged, because that  |
|                                         | waits for the entry to be on the disk; Kafka still  |
|                                         | has its messages and they are stored again          |
| an older one is missing, empty or torn, | put back from its copy                              |
| and the keeper copied it                |                                                     |
| the last checkpoint is damaged, and the | put aside: the entries say all that it said         |
| entries before it are whole             |                                                     |
| an older one without a copy             | nothing: the table is not opened until it is mended |
"""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

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
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.files import fsync
from schemas.runtime.settings import Settings, load_settings
from schemas.tables import TABLES

log = logging.getLogger(__name__)


def repair_logs(settings: Settings) -> Mapping[str, Sequence[DamagedEntry]]:
    """Mend what is safe in every table that lies on a local disk; what is left, by table."""
    left: dict[str, Sequence[DamagedEntry]] = {}
    for table in TABLES:
        folder = log_folder(settings.lake_url, table)
        if folder is None or not folder.parent.is_dir():
            continue
        repair_log(folder)
        if broken := damaged_entries(folder):
            left[table.name] = broken
            log.critical(
                "log entries are damaged: the table is not opened",
                extra={"table": table.name, "entries": named(broken)},
            )
    return left


def repair_log(folder: Path) -> list[Path]:
    """Do what is safe for one log; answers the files that were put aside or back."""
    done = []
    newest = max(log_entries(folder), default=-1)
    for version, copy in log_entries(folder.parent / COPIES_FOLDER).items():
        if version >= newest >= 0:  # of a commit that a power cut took back, maybe
            copy.unlink()
    while aside := move_torn_entry(folder):
        done.append(aside)
    if aside := move_damaged_checkpoint(folder):
        done.append(aside)
    return [*done, *restore_entries(folder)]


def restore_entries(folder: Path) -> list[Path]:
    """Put back what was copied of a log that is in use; answers the entries."""
    broken = damaged_entries(folder)
    return [folder / entry.name for entry in broken if restore_entry(folder, entry)]


def move_torn_entry(folder: Path) -> Path | None:
    """Put the newest entry aside when it is torn; answers where it is then."""
    there = log_entries(folder)
    if not there or is_intact(there[max(there)].read_bytes()):
        return None
    newest = there[max(there)]
    aside = newest.with_name(f"_torn-{newest.name}")
    newest.rename(aside)
    (folder.parent / COPIES_FOLDER / newest.name).unlink(missing_ok=True)
    fsync(folder)
    log.error("torn log entry put aside", extra={"entry": str(newest), "now": aside.name})
    return aside


def move_damaged_checkpoint(folder: Path) -> Path | None:
    """Put a damaged checkpoint aside when the table can be opened without it."""
    broken = damaged_checkpoint(folder)
    if broken is None:
        return None
    before = max((v for v in checkpoints(folder) if v < broken.version), default=-1)
    there = log_entries(folder)
    needed = range(before + 1, max(there) + 1)
    if not all(v in there and is_intact(there[v].read_bytes()) for v in needed):
        return None
    aside = folder / f"_damaged-{broken.name}"
    (folder / LAST_CHECKPOINT_FILE).unlink(missing_ok=True)
    if (folder / broken.name).exists():
        (folder / broken.name).rename(aside)
    fsync(folder)
    log.error("damaged checkpoint put aside", extra={"now": str(aside), "why": broken.problem})
    return aside


def restore_entry(folder: Path, broken: DamagedEntry) -> bool:
    """Replace an entry by its copy, if there is a whole one; never one that is there by now."""
    copy = folder.parent / COPIES_FOLDER / broken.name
    try:
        whole = copy.read_bytes()
    except FileNotFoundError:
        return False
    if not is_intact(whole):
        return False
    folder.mkdir(exist_ok=True)
    waiting = folder / f"_restored-{broken.name}"
    waiting.write_bytes(whole)
    fsync(waiting)
    if done := _place_entry(waiting, folder / broken.name):
        fsync(folder)
        log.error("log entry restored from its copy", extra={"entry": str(folder / broken.name)})
    waiting.unlink(missing_ok=True)
    return done


def _place_entry(waiting: Path, entry: Path) -> bool:
    """Put a whole entry in place, unless a commit was quicker; whether it was done."""
    if entry.exists():
        damaged = not is_intact(entry.read_bytes())
        return damaged and bool(waiting.replace(entry))
    try:
        os.link(waiting, entry)
    except FileExistsError:
        return False
    return True


def main() -> None:
    """`python -m stream.storage.log_repair`: examine everything, and say what was found."""
    settings = load_settings()
    set_umask(settings)
    log_setup.set_up_logging(settings.log_level)
    repair_logs(settings)


if __name__ == "__main__":
    main()
