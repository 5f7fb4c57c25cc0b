"""Local folder of immutable data files, bounded in bytes and shared by the processes of a machine.

A file appears by rename, complete and verified. Before files are fetched their bytes are reserved,
under a lock; what was not used for longest is removed for them, but never what was used a moment
ago, because a query may be about to open it. Locks end with the process that holds them, so what a
killed process left is recognized and removed.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from threading import Lock
from typing import BinaryIO

from msgspec import Struct

from schemas.lake.data_files import CHECKSUM_LENGTH, file_problem, named_checksum

PART = ".part"
LOCK, RESERVATION = ".lock", ".reservation-"


class CacheFull(Exception):
    """The files in use leave no room for more."""


class Found(Struct, frozen=True):
    """A complete file of the folder."""

    used_at: float
    size: int
    path: str


class PartialFile:
    """A file that is being fetched by the one process that holds its lock."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._file: BinaryIO = os.fdopen(descriptor, "wb")
        self._path = path
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, piece: memoryview) -> None:
        """Append a piece."""
        self._file.write(piece)
        self._digest.update(piece)
        self._size += len(piece)

    def finish(self, size: int) -> str | None:
        """Verify it and give it its name; else the problem, as the end of a sentence."""
        expected = named_checksum(self._path.name.removesuffix(PART))
        if self._size != size:
            return f"has {self._size} bytes, not {size}"
        if expected and self._digest.hexdigest()[:CHECKSUM_LENGTH] != expected:
            return "has a wrong checksum"
        self._file.flush()
        os.fsync(self._file.fileno())
        self._path.rename(self._path.with_name(self._path.name.removesuffix(PART)))
        return None

    def close(self) -> None:
        """Release the lock; a file without its name is removed."""
        if _is_at(self._file.fileno(), self._path):
            self._path.unlink(missing_ok=True)
        self._file.close()


class CacheFolder:
    """The cached files by their path in the lake."""

    def __init__(self, folder: Path, max_bytes: int, in_use_seconds: float = 120.0) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._in_use_seconds = in_use_seconds
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        """Where a file is, or will be."""
        return self.folder / name

    def use(self, name: str, size: int) -> bool:
        """Whether there is such a file, of that size; marks it as just used."""
        path = self.path(name)
        try:
            os.utime(path)
            complete = path.stat().st_size == size
        except FileNotFoundError:
            return False
        if not complete:
            path.unlink(missing_ok=True)
        return complete

    def discard(self, name: str, size: int) -> bool:
        """Remove a copy that is damaged; whether it was."""
        path = self.path(name)
        damaged = path.exists() and file_problem(path, size) is not None
        if damaged:
            path.unlink(missing_ok=True)
        return damaged

    def remove_others(self, names: Collection[str]) -> None:
        """Remove complete files of other names."""
        paths = {str(self.path(name)) for name in names}
        with (self.folder / LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found, _ = self._contents()
        for file in found:
            if file.path not in paths:
                Path(file.path).unlink(missing_ok=True)

    def open_part(self, name: str) -> PartialFile | None:
        """A new file to write; None while another process writes it."""
        path = self.path(name + PART)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _try_lock(descriptor) or not _is_at(descriptor, path):
            os.close(descriptor)
            return None
        os.ftruncate(descriptor, 0)
        return PartialFile(descriptor, path)

    def reserve(self, size: int) -> tuple[int, str]:
        """Make room for so many bytes: a locked file of that size; CacheFull when there is none."""
        with (self.folder / LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found, reserved = self._contents()
            self._make_room(found, self.max_bytes - reserved - size)
            descriptor, path = mkstemp(dir=self.folder, prefix=RESERVATION)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, size)  # a hole: the size is the number, and takes no space
        return descriptor, path

    def _make_room(self, found: list[Found], limit: int) -> None:
        """Remove the longest unused files until the others fit into the limit."""
        before = time.time() - self._in_use_seconds
        total = sum(file.size for file in found)
        for file in sorted(found, key=lambda file: file.used_at):
            if total <= limit:
                return
            if file.used_at < before:
                Path(file.path).unlink(missing_ok=True)
                total -= file.size
        if total > limit:
            raise CacheFull

    def _contents(self) -> tuple[list[Found], int]:
        """The complete files, and the bytes reserved for others; removes what was left behind."""
        found, reserved = [], 0
        for path, status in _files(self.folder):
            name = os.path.basename(path)  # noqa: PTH119 - thousands of files
            if name == LOCK:
                continue
            if name.startswith(RESERVATION) or name.endswith(PART):
                if _is_left_behind(path):
                    Path(path).unlink(missing_ok=True)
                elif name.startswith(RESERVATION):
                    reserved += status.st_size
            else:
                found.append(Found(status.st_mtime, status.st_size, path))
        return found, reserved


class Reservation:
    """Room for the files that a query fetches; it can be released while it is still being made."""

    def __init__(self, folder: CacheFolder, size: int) -> None:
        self._folder = folder
        self._size = size
        self._lock = Lock()
        self._released = False
        self._held: tuple[int, str] | None = None

    def make(self) -> None:
        """Make the room; CacheFull when there is none."""
        with self._lock:
            if not self._released:
                self._held = self._folder.reserve(self._size)

    def shrink(self, size: int) -> None:
        """Give a part of it back: a file is there, or will not be."""
        with self._lock:
            self._size -= size
            if self._held is not None:
                os.ftruncate(self._held[0], self._size)
        if not self._size:
            self.release()

    def release(self) -> None:
        """Give it back."""
        with self._lock:
            self._released = True
            if self._held is not None:
                descriptor, path = self._held
                self._held = None
                Path(path).unlink(missing_ok=True)
                os.close(descriptor)


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        yield entry.path, entry.stat(follow_symlinks=False)


def _is_left_behind(path: str) -> bool:
    """Whether no process holds the lock of a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file still has that path: it may have been removed or renamed."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
