"""Where backups of the registry lie: a local folder, or a folder of an object store.

Both have the few methods of `pathlib.Path` that backups need. Every failure is an OSError.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from schemas.lake.object_store import ObjectFolder, is_object_store
from schemas.runtime.files import fsync

HEADER_BYTES = 4_096
"""A header is some hundred bytes."""


class BucketFolder:
    """A folder of an object store."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def __str__(self) -> str:
        return self._url

    def __truediv__(self, name: str) -> "BucketFile":
        return BucketFile(self, name)

    @cached_property
    def objects(self) -> ObjectFolder:
        """The objects; opened when they are used first."""
        return ObjectFolder(self._url)

    def iterdir(self) -> Iterator["BucketFile"]:
        """The files in it; none when there is no folder."""
        return (self / name for name in self.objects.names())

    def with_name(self, name: str) -> "BucketFolder":
        """The folder of another name beside this one."""
        return BucketFolder(f"{self._url.rpartition('/')[0]}/{name}")


class BucketFile:
    """A file of a BucketFolder."""

    def __init__(self, folder: BucketFolder, name: str) -> None:
        self._folder = folder
        self.name = name

    def __str__(self) -> str:
        return f"{self._folder}/{self.name}"

    def read_bytes(self) -> bytes:
        return self._folder.objects.read(self.name)

    def write_bytes(self, data: bytes) -> None:
        """One request: the file is whole, and durable, or it does not exist."""
        self._folder.objects.put(self.name, data)

    def read_start(self, length: int) -> bytes:
        """The first bytes, fewer when it is shorter."""
        return self._folder.objects.read_range(self.name, 0, length)

    def unlink(self) -> None:
        """Remove it, if it exists."""
        self._folder.objects.remove(self.name)


BackupFile = Path | BucketFile
BackupFolder = Path | BucketFolder


def backup_file(name: str) -> BackupFile:
    """The file with this path or URL."""
    if not is_object_store(name):
        return Path(name)
    folder, _, file = name.rpartition("/")
    return BucketFolder(folder) / file


def list_files(folder: BackupFolder) -> list[BackupFile]:
    """The files of a folder; none when it does not exist."""
    if isinstance(folder, BucketFolder):
        return list(folder.iterdir())
    return list(folder.iterdir()) if folder.is_dir() else []


def read_first_line(file: BackupFile) -> bytes:
    """The first line, without the others."""
    if isinstance(file, BucketFile):
        return file.read_start(HEADER_BYTES).partition(b"\n")[0]
    with file.open("rb") as opened:
        return opened.readline()


def remove(file: BackupFile) -> None:
    """Remove a file, if it exists."""
    if isinstance(file, BucketFile):
        file.unlink()
    else:
        file.unlink(missing_ok=True)


def write_durably(folder: BackupFolder, name: str, data: bytes) -> BackupFile:
    """Write a file atomically and durably; a local one is readable by its owner only."""
    if isinstance(folder, BucketFolder):
        (folder / name).write_bytes(data)
        return folder / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
    fsync(path.parent)
    return path


def rename_bucket_folder(folder: BucketFolder, name: str) -> BucketFolder | None:
    """Move all files to a folder of another name beside it; None when there are none."""
    renamed = folder.with_name(name)
    files = list(folder.iterdir())
    for file in files:
        (renamed / file.name).write_bytes(file.read_bytes())
    for file in files:  # behind all copies: a failure leaves the old ones
        file.unlink()
    return renamed if files else None
