"""FileStore: the files under a folder or a URL: lake, target of backups, place of a restore.

Files are read and written in blocks. A written one is whole and durable, or it does not exist.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from schemas.lake.object_store import ObjectFolder, is_object_store
from schemas.runtime.files import fsync

BLOCK_BYTES = 4_194_304


class FileEntry(Struct, frozen=True):
    """Size of a file, and when it was written."""

    size: int
    modified_ms: int


class FileStore(Protocol):
    """Files by path relative to a root. Every failure is an OSError."""

    def entries(self, folder: str) -> Mapping[str, FileEntry]:
        """All files below a folder, by path relative to the root; none without a folder."""
        ...

    def blocks(self, path: str) -> Iterator[bytes]:
        """The content of a file, block by block; FileNotFoundError when there is none."""
        ...

    def put(self, path: str, blocks: Iterable[bytes]) -> None:
        """Write or replace a file."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        ...


class LocalFiles(FileStore):
    """Files of a local folder, readable by their owner only unless `mode` says otherwise."""

    def __init__(self, root: Path, mode: int = 0o600) -> None:
        self._root = root
        self._mode = mode

    def entries(self, folder: str) -> Mapping[str, FileEntry]:
        found: dict[str, FileEntry] = {}
        for parent, _, names in os.walk(self._root / folder):
            for name in names:
                path = Path(parent, name)
                try:
                    status = path.stat()
                except FileNotFoundError:  # removed meanwhile
                    continue
                relative = path.relative_to(self._root).as_posix()
                found[relative] = FileEntry(status.st_size, status.st_mtime_ns // 1_000_000)
        return found

    def blocks(self, path: str) -> Iterator[bytes]:
        with (self._root / path).open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                yield block

    def put(self, path: str, blocks: Iterable[bytes]) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, self._mode)
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(blocks)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        fsync(target.parent)

    def remove(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)


class BucketFiles(FileStore):
    """Objects under a URL of an object store."""

    def __init__(self, url: str) -> None:
        self._objects = ObjectFolder(url)

    def entries(self, folder: str) -> Mapping[str, FileEntry]:
        return {
            path: FileEntry(size, modified_ms)
            for path, size, modified_ms in self._objects.entries(folder)
        }

    def blocks(self, path: str) -> Iterator[bytes]:
        size = self._objects.size(path)
        for start in range(0, size, BLOCK_BYTES):
            yield self._objects.read_range(path, start, min(BLOCK_BYTES, size - start))

    def put(self, path: str, blocks: Iterable[bytes]) -> None:
        with tempfile.NamedTemporaryFile(prefix="tidemark-") as file:
            file.writelines(blocks)
            file.flush()
            self._objects.put(path, Path(file.name))

    def remove(self, path: str) -> None:
        self._objects.remove(path)


def file_store(url: str, mode: int = 0o600) -> FileStore:
    """The files under a folder or a URL."""
    if is_object_store(url):
        return BucketFiles(url)
    return LocalFiles(Path(url.removeprefix("file://")).absolute(), mode)
