"""Where the bytes of a table lie: a folder of this machine, or an object store behind a URL.

Neither pyarrow nor deltalake makes the disk keep what they wrote, so the folder does it here: after
`put` a part and its name survive a power cut, after `settle` so do the log entries. An object store
is durable once it answers.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.fs as fs

from schemas.lake.delta_log import LOG_FOLDER
from schemas.lake.table_location import local_folder
from schemas.runtime.files import fsync
from stream.storage.scratch_directory import ScratchDirectory

SCRATCH_FOLDER = "_scratch"
"""Readers of Delta leave names with an underscore alone."""


class TableStorage(Protocol):
    """Bytes under the root of one table, by relative path."""

    def put(self, path: str, data: pa.Buffer) -> None:
        """Keep `data` under a name that nothing had before."""
        ...

    def remove(self, path: str) -> None:
        """Forget what was put there; it may be gone already."""
        ...

    def sync_log(self, version: int) -> int:
        """Make all log entries after `version` durable; answers the newest of them."""
        ...

    def scratch_directory(self) -> Path:
        """A folder for files that are to be adopted; nobody else writes there."""
        ...

    def clear_scratch(self) -> None:
        """Remove the scratch folders that killed processes left."""
        ...

    def adopt(self, file: Path, path: str) -> int:
        """Keep a finished file of the scratch folder like `put`; answers its size."""
        ...

    def local_copy(self, path: str) -> AbstractContextManager[Path]:
        """The bytes as a local file of the same name, for as long as it is needed."""
        ...

    def filesystem(self) -> fs.FileSystem:
        """The files under the root, for who reads parts of them."""
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
        if newest == version:  # the next one is in a checkpoint by now, and was cleaned up
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
        self._files, self._root = fs.FileSystem.from_uri(url)
        self._scratch = ScratchDirectory(Path(tempfile.gettempdir()) / f"tidemark-{os.getuid()}")

    def put(self, path: str, data: pa.Buffer) -> None:
        with self._files.open_output_stream(f"{self._root}/{path}") as stream:
            stream.write(data)

    def remove(self, path: str) -> None:
        if self._files.get_file_info(f"{self._root}/{path}").type == fs.FileType.File:
            self._files.delete_file(f"{self._root}/{path}")

    def sync_log(self, version: int) -> int:
        return version

    def scratch_directory(self) -> Path:
        return self._scratch.folder()

    def clear_scratch(self) -> None:
        self._scratch.clear()

    def adopt(self, file: Path, path: str) -> int:
        self._files_copy(file, path)
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

    def _files_copy(self, file: Path, path: str) -> None:
        fs.copy_files(
            str(file),
            f"{self._root}/{path}",
            source_filesystem=fs.LocalFileSystem(),
            destination_filesystem=self._files,
        )


@contextmanager
def temporary_directory(store: TableStorage) -> Iterator[Path]:
    """A folder in the scratch folder that goes with all that is in it, whatever happens."""
    with tempfile.TemporaryDirectory(dir=store.scratch_directory()) as folder:
        yield Path(folder)


def storage_at(url: str) -> TableStorage:
    """The store of the table at a URL or folder."""
    folder = local_folder(url)
    return ObjectStorage(url) if folder is None else LocalStorage(folder)
