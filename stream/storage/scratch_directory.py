"""Scratch directory per process under a lock; directories of dead processes are removed.

A process holds the lock (`flock`) of its directory for its lifetime. Process ids would not do: they
mean nothing between containers.
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
    """The scratch directories under one root. Not for two threads at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None

    def folder(self) -> Path:
        """The directory of this object; removed with it, or after the process ends."""
        while self._own is None:
            self._root.mkdir(exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=self._root))
            if (descriptor := _lock(folder, fcntl.LOCK_EX)) is not None:
                self._own = folder
                weakref.finalize(self, _remove, folder, descriptor)
        return self._own

    def clear(self) -> None:
        """Remove directories without a lock holder, and any other files."""
        for entry in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            with suppress(PermissionError):  # another user's, perhaps in use
                _clear(entry)


def _clear(entry: Path) -> None:
    if not entry.is_dir():
        entry.unlink(missing_ok=True)
    elif (descriptor := _lock(entry, fcntl.LOCK_EX | fcntl.LOCK_NB)) is not None:
        _remove(entry, descriptor)


def _lock(folder: Path, operation: int) -> int | None:
    """A descriptor that holds the folder's lock; None when it is taken or the folder is gone."""
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
