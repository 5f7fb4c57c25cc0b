"""When the newest backup was still the state of the registry, for a start without the database.

A backup is written when the registry changes, so its own time does not say when the registry was
read last. A file beside the backups of this machine does, to within half a minute: a restart must
not make keys valid for longer.
"""

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.registry.backup_files import write_durably
from schemas.registry.backups import Backup, Backups
from schemas.registry.contents import RegistryVersion
from schemas.runtime.files import read_regular

FILE = "last-read.json"


class LastRead(Struct, frozen=True, rename="camel"):
    """A version, and the last time at which the registry had it, in ms since 1970."""

    stamp: RegistryVersion
    at_ms: int


def write_last_read(backups: Backups, version: RegistryVersion, at_ms: int) -> None:
    """Write that the registry had this version; nothing where there is no local backup; OSError."""
    folder = _local_folder(backups)
    if folder and folder.is_dir():
        write_durably(folder, FILE, msgspec.json.encode(LastRead(version, at_ms)) + b"\n")


def backup_read_ms(backups: Backups, backup: Backup) -> int:
    """The last known time at which the registry was as in the backup, in ms since 1970."""
    taken_ms, folder = backup.header.taken_ms, _local_folder(backups)
    with suppress(OSError, msgspec.MsgspecError):  # without it the backup is as old as it says
        if folder:
            last = msgspec.json.decode(read_regular(folder / FILE), type=LastRead)
            if last.stamp == backup.header.stamp:
                return max(taken_ms, last.at_ms)
    return taken_ms


def _local_folder(backups: Backups) -> Path | None:
    folder = (backups.copy or backups).folder
    return folder if isinstance(folder, Path) else None
