"""Files of rollups: one for each website and data file, bounded in bytes with their indexes.

A data file never changes and its name is not used again, so a rollup is right for as long as its
data file is read. Everything here is derived: a missing or damaged file costs time only.
"""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkstemp
from typing import IO, TypeVar

from msgspec import Struct

from query.prepared.attribute_rank import RANK_SQL
from query.prepared.measured_tables import PAGE_LOADS, VITAL_VALUES
from query.prepared.rollup import (
    Rollup,
)
from query.prepared.rollup_file import UNREADABLE, Damaged, is_damage, write_rollup
from query.prepared.rollup_tables import (
    FACTS,
    OTHER_EVENTS,
    OTHER_FACTS,
    PAGE_VIEWS,
    PAGES,
    SESSIONLESS,
    SESSIONS,
    VISITS,
    RollupTable,
)
from schemas.runtime.files import matching_files
from schemas.tables import EVENTS, Table
from schemas.tables import VITALS as STORED_VITALS
from schemas.tables.derived_table import source_key

MAX_ROWS = 4_000_000
"""Rows of a table of a rollup; a data file with more of them has no rollup."""
FORMAT = 11
"""Of the files with rollups; another one makes all of them anew."""

TOTALS, SEQUENCES, VITALS, LOADS = "totals", "sequences", "vitals", "loads"
"""Kinds of rollups; a file of its own for each, which is made when a query asks for it."""
KINDS: Mapping[str, Sequence[RollupTable]] = {
    TOTALS: (SESSIONS, PAGES, FACTS, SESSIONLESS, VISITS, OTHER_EVENTS, OTHER_FACTS),
    SEQUENCES: (PAGE_VIEWS,),
    VITALS: (VITAL_VALUES,),
    LOADS: (PAGE_LOADS,),
}
TABLES: Sequence[RollupTable] = [table for tables in KINDS.values() for table in tables]
KIND_OF: Mapping[str, str] = {each.name: kind for kind, tables in KINDS.items() for each in tables}
"""The kind of rollups that have a table."""


def stored_table(kind: str) -> Table:
    """The table whose data files a kind of rollups is made of."""
    return STORED_VITALS if kind == VITALS else EVENTS


def kinds_beside(kind: str) -> Sequence[str]:
    """All kinds of rollups of the same data files."""
    return [each for each in KINDS if stored_table(each) is stored_table(kind)]


def definition(tables: Sequence[RollupTable] = TABLES) -> str:
    """Eight hex digits of all tables; rollups of another definition are outdated."""
    of_tables = [(each.name, " ".join(each.sql.split()), each.texts) for each in tables]
    text = f"{FORMAT} {RANK_SQL} {of_tables}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


log = logging.getLogger(__name__)

T = TypeVar("T")

SUFFIX, PARTIAL = ".parquet", ".new"
LEFT_BEHIND_SECONDS = 3600.0
"""Age after which temporary files of dead processes are deleted."""
CACHED_PATHS = 2**16
"""Paths of rollups that stay in memory."""
SETTLED_SECONDS = 2.0
"""Age from which a directory's mtime is safe to cache by."""
CACHED_FOLDERS = 32
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
    """Delete a file or directory, ignoring errors."""
    if path.is_dir() and not path.is_symlink():
        rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)


class RollupKey(Struct, frozen=True, order=True):
    """Names a rollup: website, path of the data file, kind."""

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


@lru_cache(CACHED_PATHS)
def _path(website: str, data_file: str, kind: str) -> str:
    own = hashlib.sha256(website.encode()).hexdigest()[:32]
    return f"{own}/{kind}-{source_key(data_file)}{SUFFIX}"


class RollupStore:
    """The rollups of one definition of their tables; others are deleted at start."""

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
        """Bytes of all rollups, those of other processes included."""
        return sum(size for _, size, _ in self._files())

    def has(self, key: RollupKey) -> bool:
        """Whether there is such a rollup."""
        return is_there(self._folder / key.path)

    def names(self, website: str) -> frozenset[str]:
        """The names of the rollups of a website, which each query looks for; none of a folder that
        cannot be read."""
        folder = self.of_website(website)
        looked_at = time.time()
        try:
            changed = folder.stat().st_mtime_ns
            known_at, names = self._known_names.pop(folder, (None, frozenset[str]()))
            if changed != known_at:
                names = frozenset(os.listdir(folder))  # noqa: PTH208 - paths take ten times as long
        except OSError:
            return frozenset()
        if looked_at - changed / 1e9 > SETTLED_SECONDS:
            self._known_names[folder] = changed, names
            if len(self._known_names) > CACHED_FOLDERS:
                del self._known_names[next(iter(self._known_names))]
        return names

    def read(self, key: RollupKey, read: Callable[[IO[bytes], str], T]) -> T | None:
        """What is read of a rollup, from its file and path; None when it is gone or unreadable."""
        path = self._folder / key.path
        try:
            with open_regular(path) as file:
                os.utime(path)
                return read(file, key.path)
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            if not is_damage(error):
                log.warning("cannot read a rollup", extra={"file": str(path), "error": str(error)})
                return None
            log.warning(
                "prepared rollup is damaged", extra={"file": str(path), "error": str(error)}
            )
            discard(path)
            return None

    def remove(self, key: RollupKey) -> None:
        """Remove a rollup, if it is there."""
        discard(self._folder / key.path)

    def write(self, key: RollupKey, rollup: Rollup) -> None:
        """Store a rollup."""
        self.put(self._folder / key.path, lambda file: write_rollup(file, key.path, rollup))

    def of_website(self, website: str) -> Path:
        """The folder of a website."""
        return (self._folder / RollupKey(website, "").path).parent

    def put(self, path: Path, write: Callable[[IO[bytes]], object]) -> None:
        """Store what `write` writes; it appears whole, by rename."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, new = mkstemp(dir=path.parent, suffix=PARTIAL)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
                self._size += file.tell()
            Path(new).replace(path)
        except BaseException:
            discard(Path(new))
            raise
        if self._size > self._max_bytes:
            self._make_room()

    def remove_others(
        self, website: str, data_files: Iterable[str], kinds: Iterable[str] = KINDS
    ) -> None:
        """Remove rollups of these kinds of a website that belong to no given data file."""
        kinds = tuple(kinds)
        keys = [RollupKey(website, each, kind) for each in data_files for kind in kinds]
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
        for path in matching_files(self._folder, "*/*"):
            try:
                status = path.lstat()
            except OSError:
                continue  # another process removed it
            found.append((status.st_mtime, status.st_size, path))
        return found
