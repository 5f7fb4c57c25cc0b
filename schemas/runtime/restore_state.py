"""RestoreState: a file in the data folder that says what was restored into it.

A restore that has not ended has a part of the tables only, so nothing may start on it. The file
stays: it also says that the next start is no first start.
"""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from schemas.runtime.clock import now_ms
from schemas.runtime.files import write_atomically

RESTORE_FILE = "restored.json"


class RestoreState(Struct, frozen=True, rename="camel"):
    """Content of the file."""

    backup: str
    state: Literal["running", "done"]
    at_ms: int


def read_restore_state(data: Path) -> RestoreState | None:
    """What was restored into a data folder; None when nothing was."""
    try:
        return msgspec.json.decode((data / RESTORE_FILE).read_bytes(), type=RestoreState)
    except (OSError, msgspec.DecodeError):
        return None


def write_restore_state(data: Path, backup: str, state: Literal["running", "done"]) -> None:
    """Write that the restore of a backup has begun, or ended."""
    content = msgspec.json.encode(RestoreState(backup, state, now_ms()))
    write_atomically(data / RESTORE_FILE, content)
