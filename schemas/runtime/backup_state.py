"""BackupState: a file of the keeper in the data folder that says how the scheduled backups go."""

from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.runtime.files import read_regular, write_atomically

BACKUP_STATE_FILE = "backups.json"


class BackupState(Struct, frozen=True, rename="camel"):
    """Content of the file."""

    target: str
    last_ms: int
    """When the newest backup of the target was taken; 0 when there is none."""
    due_ms: int
    """When the next one is to be taken."""
    problem: str = ""
    """Why the last attempt failed, or which data files it lacks."""


def read_backup_state(data: Path) -> BackupState | None:
    """The state; None when no keeper of this data folder makes backups."""
    try:
        return msgspec.json.decode(read_regular(data / BACKUP_STATE_FILE), type=BackupState)
    except (OSError, msgspec.DecodeError):
        return None


def write_backup_state(data: Path, state: BackupState) -> None:
    """Replace the state; OSError."""
    write_atomically(data / BACKUP_STATE_FILE, msgspec.json.encode(state))
