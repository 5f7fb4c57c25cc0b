"""Where a file to import comes from: a path, standard input, or an object store."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj

from deploy.importer.csv_rows import InvalidFile
from schemas.lake.object_store import ObjectFolder, is_object_store

STANDARD_INPUT = "-"
CHUNK_BYTES = 16 * 2**20


@contextmanager
def local_file(source: str) -> Iterator[tuple[Path, Path]]:
    """The file or folder, and where its rejects go; a copy of what has to be read again."""
    if source != STANDARD_INPUT and not is_object_store(source):
        path = Path(source)
        if not path.exists():
            raise InvalidFile(f"{source} does not exist")
        yield path, path.with_name(f"{path.name}.rejects.ndjson")
        return
    with tempfile.TemporaryDirectory(prefix="tidemark-import-") as folder:
        if source == STANDARD_INPUT:
            path = Path(folder, "stdin")
            with path.open("wb") as copy:
                copyfileobj(sys.stdin.buffer, copy)
        else:
            path = Path(folder, source.rstrip("/").rpartition("/")[2])
            download(source, path)
        yield path, Path(f"{path.name}.rejects.ndjson").absolute()


def download(url: str, path: Path) -> None:
    """An object, or all objects below a folder of the store."""
    parent, _, name = url.rstrip("/").rpartition("/")
    try:
        if not url.endswith("/"):
            _copy(ObjectFolder(parent), name, path)
            return
    except FileNotFoundError:
        pass  # a folder, then
    store = ObjectFolder(url)
    is_empty = True
    for entry, _, _ in store.entries():
        target = path / entry
        if not target.resolve().is_relative_to(path.resolve()):
            raise InvalidFile(f"{url} has an object named {entry}")
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(store, entry, target)
        is_empty = False
    if is_empty:
        raise InvalidFile(f"{url} is no object, and no folder with objects")


def _copy(store: ObjectFolder, name: str, path: Path) -> None:
    size = store.size(name)
    with path.open("wb") as copy:
        for start in range(0, size, CHUNK_BYTES):
            copy.write(store.read_range(name, start, min(CHUNK_BYTES, size - start)))
