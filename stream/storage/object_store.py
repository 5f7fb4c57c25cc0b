"""Where the files of a table are: a local folder with fsync, or an object store.

Neither pyarrow nor deltalake calls fsync, so local storage does: after `put` a data file and its
name survive a power cut, after `sync_log` the log entries do. An object store is durable once it
answers. Files on their way to one are in a scratch directory per process under a lock (`flock`);
directories of dead processes are removed. Process ids mean nothing between containers.

A store that ignores `If-None-Match` acknowledges both of two commits of one version, and one's rows
are gone. So nothing is written before the store has refused to replace an object.
"""

import asyncio
import fcntl
import logging
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as fs

from schemas.lake.delta_log import LOG_FOLDER
from schemas.lake.object_store import ObjectFolder, StoreUnreachable, is_object_store, time_limits
from schemas.lake.table_location import local_folder
from schemas.runtime.environment import store_endpoint, store_region
from schemas.runtime.files import fsync
from stream.runtime.errors import LakeUnreachable, UnsafeStore

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


SCRATCH_FOLDER = "_scratch"
"""Delta readers ignore names that begin with an underscore."""


class TableStorage(Protocol):
    """The files of one table, by path relative to its root."""

    def put(self, path: str, data: pa.Buffer) -> None:
        """Write a new file durably."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        ...

    def sync_log(self, version: int) -> int:
        """Make all log entries after `version` durable; returns the newest of them."""
        ...

    def scratch_directory(self) -> Path:
        """A folder of this process for files that `adopt` moves into the table."""
        ...

    def clear_scratch(self) -> None:
        """Remove the scratch folders of processes that no longer run."""
        ...

    def adopt(self, file: Path, path: str) -> int:
        """Move a finished file from the scratch folder into the table durably; returns its size."""
        ...

    def local_copy(self, path: str) -> AbstractContextManager[Path]:
        """A local file with the same content and name, within the context."""
        ...

    def filesystem(self) -> fs.FileSystem:
        """The root as an Arrow file system, for reading parts of files."""
        ...


class LocalStorage(TableStorage):
    """A table on a local disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._scratch = ScratchDirectory(root / SCRATCH_FOLDER)

    def put(self, path: str, data: pa.Buffer) -> None:
        target = self.root / path
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            fsync(self.root)
        with target.open("xb") as file:
            file.write(memoryview(data))
            file.flush()
            os.fsync(file.fileno())
        fsync(target.parent)

    def remove(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    def sync_log(self, version: int) -> int:
        log = self.root / LOG_FOLDER
        newest = version
        while (entry := log / f"{newest + 1:020}.json").exists():
            fsync(entry)
            newest += 1
        if newest == version:  # the next entry was cleaned up after a checkpoint
            newest = self._sync_listed(version)
        fsync(log)
        return newest

    def _sync_listed(self, version: int) -> int:
        entries = {
            int(entry.stem): entry for entry in (self.root / LOG_FOLDER).glob("[0-9]*[0-9].json")
        }
        newer = sorted(number for number in entries if number > version)
        for number in newer:
            fsync(entries[number])
        return newer[-1] if newer else version

    def scratch_directory(self) -> Path:
        return self._scratch.folder()

    def clear_scratch(self) -> None:
        self._scratch.clear()

    def adopt(self, file: Path, path: str) -> int:
        fsync(file)
        size = file.stat().st_size
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        file.rename(target)
        fsync(target.parent)
        return size

    @contextmanager
    def local_copy(self, path: str) -> Iterator[Path]:
        yield self.root / path

    def filesystem(self) -> fs.FileSystem:
        return fs.SubTreeFileSystem(str(self.root), fs.LocalFileSystem())


class ObjectStorage(TableStorage):
    """A table in an object store."""

    def __init__(self, url: str) -> None:
        self._objects = ObjectFolder(url)
        self._files, self._root = _file_system(url)
        self._scratch = ScratchDirectory(Path(tempfile.gettempdir()) / f"tidemark-{os.getuid()}")

    def put(self, path: str, data: pa.Buffer) -> None:
        # One request: Arrow's own file system needs three, and leaves parts when it is killed.
        self._objects.put(path, data.to_pybytes())

    def remove(self, path: str) -> None:
        self._objects.remove(path)

    def sync_log(self, version: int) -> int:
        return version

    def scratch_directory(self) -> Path:
        return self._scratch.folder()

    def clear_scratch(self) -> None:
        self._scratch.clear()

    def adopt(self, file: Path, path: str) -> int:
        self._objects.put(path, file)
        size = file.stat().st_size
        file.unlink()
        return size

    @contextmanager
    def local_copy(self, path: str) -> Iterator[Path]:
        with temporary_directory(self) as folder:
            file = folder / Path(path).name
            fs.copy_files(
                f"{self._root}/{path}",
                str(file),
                source_filesystem=self._files,
                destination_filesystem=fs.LocalFileSystem(),
            )
            yield file

    def filesystem(self) -> fs.FileSystem:
        return fs.SubTreeFileSystem(self._root, self._files)


def _file_system(url: str) -> tuple[fs.FileSystem, str]:
    """The file system and the path in it; with the variables and limits of time of deltalake."""
    if not url.startswith("s3://"):
        file_system, root = fs.FileSystem.from_uri(url)
        return file_system, root
    endpoint = urlsplit(store_endpoint() or "")
    file_system = fs.S3FileSystem(
        endpoint_override=endpoint.netloc or None,
        scheme=endpoint.scheme or "https",
        region=store_region(),
        connect_timeout=time_limits().connect,
        request_timeout=time_limits().request,
    )
    return file_system, url.removeprefix("s3://")


@contextmanager
def temporary_directory(store: TableStorage) -> Iterator[Path]:
    """A temporary folder in the scratch folder, removed with its content on exit."""
    with tempfile.TemporaryDirectory(dir=store.scratch_directory()) as folder:
        yield Path(folder)


def storage_at(url: str) -> TableStorage:
    """The storage of the table at a URL or folder."""
    folder = local_folder(url)
    return ObjectStorage(url) if folder is None else LocalStorage(folder)


log = logging.getLogger(__name__)

PROBE_SECONDS = 0.5
PROBE = "_probe/if-none-match"
"""Readers of tables ignore names that begin with an underscore."""


def check_conditional_put(lake: str) -> None:
    """UnsafeStore when the store replaces objects; LakeUnreachable when it does not answer."""
    if not is_object_store(lake):
        return
    try:
        objects = ObjectFolder(lake)
        # The first start writes the object; a store that replaces it does so twice.
        if objects.create(PROBE, b"first") and objects.create(PROBE, b"second"):
            raise UnsafeStore(
                f"the object store of {lake} replaces an object although it was told not to "
                "(If-None-Match), so two workers could overwrite each other's commits; use a "
                "store with conditional writes"
            )
    except StoreUnreachable as error:
        raise LakeUnreachable(f"{lake} cannot be reached: {error}") from None


async def await_store(lake: str, seconds: float) -> None:
    """As `check_conditional_put`; a store that does not answer is asked for so long."""
    until = time.monotonic() + seconds
    is_logged = False
    while True:
        try:
            return await asyncio.to_thread(check_conditional_put, lake)
        except LakeUnreachable as error:
            if time.monotonic() > until:
                raise
            if not is_logged:
                log.warning("waiting for the object store", extra={"reason": str(error)})
            is_logged = True
        await asyncio.sleep(PROBE_SECONDS)
