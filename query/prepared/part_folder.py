"""Folder of parts: a file for each website and data file, bounded in bytes with their indexes.

A data file never changes and its name is not used again, so a part is right for as long as its data
file is read. Everything here is derived: a file that is missing or damaged costs time only.
"""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkstemp
from typing import IO, TypeVar

from msgspec import Struct

from query.prepared.checked_file import UNREADABLE, Damaged
from query.prepared.part import Part
from query.prepared.part_file import write_part
from query.prepared.part_kinds import KINDS, TOTALS, definition
from schemas.tables.derived_table import source_key

log = logging.getLogger(__name__)

T = TypeVar("T")

SUFFIX, PARTIAL = ".part", ".new"
LEFT_BEHIND_SECONDS = 3600.0
"""Age of a file without its name that a killed process left."""
KNOWN_PATHS = 2**16
"""Paths of parts that stay in memory."""
SETTLED_SECONDS = 2.0
"""Age from which the time of a folder's last change tells it from every later change."""
KNOWN_FOLDERS = 32
"""Folders whose names stay in memory."""
ROOM = 0.9
"""Share of the limit that remains when files are removed, so that not each new one removes one."""


def open_regular(path: Path) -> IO[bytes]:
    """The file, opened for reading; Damaged when it is a folder, a pipe or a device."""
    if not path.is_file() and os.path.lexists(path):
        raise Damaged("not a regular file")
    return path.open("rb")


def is_there(path: Path) -> bool:
    """Whether there is a file; not where its folder cannot be read."""
    return os.path.exists(path)  # noqa: PTH110 - that of paths raises


def discard(path: Path) -> None:
    """Remove what has the name of a file here, whatever it is; what cannot be removed stays."""
    if path.is_dir() and not path.is_symlink():
        rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)


class PartKey(Struct, frozen=True, order=True):
    """Which part: a website, the path of a data file, and what the part has of it."""

    website: str
    data_file: str
    kind: str = TOTALS

    @property
    def path(self) -> str:
        """Relative to the folder."""
        return _path(self.website, self.data_file, self.kind)

    @property
    def name(self) -> str:
        """Of the file in the folder of the website."""
        return self.path.rpartition("/")[2]


@lru_cache(KNOWN_PATHS)
def _path(website: str, data_file: str, kind: str) -> str:
    own = hashlib.sha256(website.encode()).hexdigest()[:32]
    return f"{own}/{kind}-{source_key(data_file)}{SUFFIX}"


class PartFolder:
    """The parts of one definition; those of others are removed at start."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder / definition()
        self._max_bytes = max_bytes
        for other in folder.glob("*"):
            if other != self._folder:
                rmtree(other, ignore_errors=True)
        for used, _, path in self._files():
            if path.suffix == PARTIAL and time.time() - used > LEFT_BEHIND_SECONDS:
                discard(path)
        self._size = sum(size for _, size, _ in self._files())
        self._known_names: dict[Path, tuple[int, frozenset[str]]] = {}

    @property
    def size(self) -> int:
        """Bytes of all parts, those of other processes included."""
        return sum(size for _, size, _ in self._files())

    def has(self, key: PartKey) -> bool:
        """Whether there is such a part."""
        return is_there(self._folder / key.path)

    def names(self, website: str) -> frozenset[str]:
        """The names of the parts of a website, which each query looks for; none of a folder that
        cannot be read."""
        folder = self.of_website(website)
        try:
            changed = folder.stat().st_mtime_ns
            known_at, names = self._known_names.pop(folder, (None, frozenset[str]()))
            if changed != known_at:
                names = frozenset(os.listdir(folder))  # noqa: PTH208 - paths take ten times as long
        except OSError:
            return frozenset()
        if time.time() - changed / 1e9 > SETTLED_SECONDS:
            self._known_names[folder] = changed, names
            if len(self._known_names) > KNOWN_FOLDERS:
                del self._known_names[next(iter(self._known_names))]
        return names

    def read(self, key: PartKey, read: Callable[[IO[bytes], str], T]) -> T | None:
        """What is read of a part, from its file and path; None when it is gone or damaged."""
        path = self._folder / key.path
        try:
            with open_regular(path) as file:
                os.utime(path)
                return read(file, key.path)
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            log.warning("prepared part is damaged", extra={"file": str(path), "error": str(error)})
            discard(path)
            return None

    def remove(self, key: PartKey) -> None:
        """Remove a part, if it is there."""
        discard(self._folder / key.path)

    def write(self, key: PartKey, part: Part) -> None:
        """Store a part."""
        self.put(self._folder / key.path, lambda file: write_part(file, key.path, part))

    def of_website(self, website: str) -> Path:
        """The folder of a website."""
        return (self._folder / PartKey(website, "").path).parent

    def put(self, path: Path, write: Callable[[IO[bytes]], object]) -> None:
        """Store what `write` writes; it appears whole, by rename."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, new = mkstemp(dir=path.parent, suffix=PARTIAL)
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            self._size += file.tell()
        Path(new).replace(path)
        if self._size > self._max_bytes:
            self._make_room()

    def remove_others(
        self, website: str, data_files: Iterable[str], kinds: Iterable[str] = KINDS
    ) -> None:
        """Remove the parts of a website and of these kinds that are of none of these data files."""
        kinds = tuple(kinds)
        keys = [PartKey(website, each, kind) for each in data_files for kind in kinds]
        kept = {self._folder / key.path for key in keys}
        found = [p for kind in kinds for p in self.of_website(website).glob(f"{kind}-*{SUFFIX}")]
        for path in found:
            if path not in kept:
                discard(path)

    def _make_room(self) -> None:
        """Remove what was not used for longest."""
        files = sorted(self._files())
        self._size = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self._size <= self._max_bytes * ROOM:
                return
            discard(path)
            self._size -= size

    def _files(self) -> list[tuple[float, int, Path]]:
        """When each file was used, its size and its path."""
        found = []
        for path in self._folder.glob("*/*"):
            try:
                status = path.lstat()
            except OSError:
                continue  # another process removed it
            found.append((status.st_mtime, status.st_size, path))
        return found
