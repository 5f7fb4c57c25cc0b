"""Watches the SQLite file: detects removal, replacement and truncation under open connections.

SQLite continues without an error when its file is removed, replaced or overwritten; its writes are
then lost.

A process that closes any descriptor of a file loses its POSIX locks on that file, including
SQLite's. So the descriptor stays open as long as a watch of this process uses the file.
"""

import os
import threading
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

SQLITE_MAGIC = b"SQLite format 3\0"

FileIdentity = tuple[int, int]
"""Device and inode."""

_lock = threading.Lock()
_descriptors: dict[FileIdentity, list[int]] = {}
"""Descriptors of each watched file, newest last."""
_watches: dict[FileIdentity, int] = {}


class RegistryLost(SQLAlchemyError):
    """The database file is missing, or not a database any more."""


class DatabaseFileWatch:
    """One watch; `check` costs a few microseconds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: FileIdentity | None = None
        self._looking = threading.Lock()

    def check(self) -> FileIdentity:
        """Identity of the file at the path; RegistryLost when it is not a database."""
        with self._looking:
            try:
                identity, before = _file_identity(self._path), self._known
                if identity != before:
                    self._known = identity = _acquire(self._path, identity)
                    if before is not None:
                        _release(before)
                head = os.pread(_descriptors[identity][-1], len(SQLITE_MAGIC), 0)
            except FileNotFoundError:
                raise RegistryLost(f"{self._path} is missing") from None
            except OSError as error:
                raise RegistryLost(f"{self._path} cannot be read: {error.strerror}") from None
        if head != SQLITE_MAGIC:
            raise RegistryLost(f"{self._path} is {'not a database any more' if head else 'empty'}")
        return identity

    def close(self) -> None:
        """Stop watching."""
        if self._known is not None:
            _release(self._known)
            self._known = None


def _file_identity(file: Path | int) -> FileIdentity:
    status = file.stat() if isinstance(file, Path) else os.fstat(file)
    return status.st_dev, status.st_ino


def _acquire(path: Path, identity: FileIdentity) -> FileIdentity:
    """Count a watch; returns the identity, which may be that of a newer file."""
    with _lock:
        if identity not in _descriptors:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            identity = _file_identity(descriptor)
            _descriptors.setdefault(identity, []).append(descriptor)
        _watches[identity] = _watches.get(identity, 0) + 1
    return identity


def _release(identity: FileIdentity) -> None:
    with _lock:
        _watches[identity] -= 1
        if not _watches[identity]:
            del _watches[identity]
            for descriptor in _descriptors.pop(identity):
                os.close(descriptor)
