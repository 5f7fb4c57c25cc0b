"""A restart that a user ordered, told to the supervisor: it is no failure of the process.

The order is a file beside the log of the process, with the pid that it is meant for.
"""

from contextlib import suppress
from pathlib import Path

from schemas.runtime.files import write_atomically


def write_restart_order(log: Path, pid: int) -> None:
    """Say that the process with this log and pid is being restarted.

    On a full disk nobody is told, and it is restarted all the same.
    """
    with suppress(OSError):
        write_atomically(_path(log), f"{pid}\n".encode())


def take_restart_order(log: Path, pid: int) -> bool:
    """Whether the end of this process was ordered; the order is fulfilled by that."""
    try:
        ordered = _path(log).read_text().strip() == str(pid)
        _path(log).unlink()
    except (OSError, UnicodeDecodeError):
        return False
    return ordered


def _path(log: Path) -> Path:
    return log.with_suffix(".restart")
