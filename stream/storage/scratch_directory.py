"""A folder for files under way, each writer its own; what is left of the dead is cleared.

A writer holds the lock of its folder for as long as it lives. Process ids would not do: they say
nothing between containers.
"""

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

LOCK_FILE = "lock"


class ScratchDirectory:
    """The folders under one root. Not for two threads at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None

    def folder(self) -> Path:
        """The own folder; it goes with this object, or with the process at the latest."""
        while self._own is None:
            self._root.mkdir(exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=self._root))
            if (descriptor := _lock(folder, fcntl.LOCK_EX)) is not None:
                self._own = folder
                weakref.finalize(self, _remove, folder, descriptor)
        return self._own

    def clear(self) -> None:
        """Remove the folders that nobody holds, and what else lies there."""
        for entry in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            with suppress(PermissionError):  # another user's, who may well be at work
                _clear(entry)


def _clear(entry: Path) -> None:
    if not entry.is_dir():
        entry.unlink(missing_ok=True)
    elif (descriptor := _lock(entry, fcntl.LOCK_EX | fcntl.LOCK_NB)) is not None:
        _remove(entry, descriptor)


def _lock(folder: Path, operation: int) -> int | None:
    """The lock of a folder, as a descriptor; None when it is another's, or the folder is gone."""
    try:
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if not os.fstat(descriptor).st_nlink:  # removed while we waited
        os.close(descriptor)
        return None
    return descriptor


def _remove(folder: Path, descriptor: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(descriptor)
