"""Stores indexes beside the rollups that they are built from; a restart builds none again.

An index belongs to a set of rollups. A file names each set that has indexes. A file of an index has
a header in JSON, in which arrays are numbers and structs have their names, then its arrays, each
compressed by itself and with a checksum. A missing or damaged file costs time only.
"""

import hashlib
import logging
import os
import struct
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.breakdown import GroupsIndex
from query.prepared.distinct_visitors_index import VisitorsIndex
from query.prepared.groups_index import GroupIndex
from query.prepared.page_views import OrderedViews, PageViewIndex
from query.prepared.result_cache import ByteCache
from query.prepared.rollup_file import UNREADABLE, Damaged, is_damage
from query.prepared.rows_index import RowIndex
from query.prepared.session_attributes import SessionAttributes
from query.prepared.session_lists import ListedSessions
from query.prepared.sessions_index import OrderedDurations, Sessions
from query.prepared.shared_ids import SharedIds
from query.prepared.store import KINDS, RollupKey, RollupStore, discard, is_there, open_regular
from query.prepared.totals_index import TotalsIndex
from query.prepared.visits_index import LongVisits, SessionValues, VisitPageIndex
from schemas.lake.delta_table import DataFile

HEAD = struct.Struct("<8sIII")
"""Magic, bytes of the header as text and as it is stored, checksum of these and of the latter."""
CODEC = "zstd"
MAGIC = b"TMINDEX1"
INDEX_KINDS: Mapping[str, type[Struct]] = {
    kind.__name__: kind
    for kind in (
        GroupIndex, GroupsIndex, LongVisits, SharedIds, RollupKey, Sessions, TotalsIndex,
        VisitorsIndex, VisitPageIndex, PageViewIndex, OrderedViews, SessionValues,
        OrderedDurations, SessionAttributes, ListedSessions, RowIndex,
    )
}  # fmt: skip
ARRAY, KIND, PAIRS = "array", "struct", "pairs"
"""Members of the tree: the number of an array, the name of a struct, entries of a mapping."""

_Tree: TypeAlias = Any


@cache
def revision() -> str:
    """Of the modules beside this one: indexes that other sources built are not read."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    sources = b"".join(file.read_bytes() for file in files)
    return sha256(sources).hexdigest()[:8]


class Block(Struct, frozen=True, array_like=True):
    """What a header says of a block."""

    size: int
    """Bytes, uncompressed."""
    stored_size: int
    checksum: int


class _StoredArray(Struct, frozen=True, array_like=True):
    """Where the numbers of an array are."""

    dtype: str
    shape: tuple[int, ...]
    block: Block


class _Header(Struct, frozen=True):
    tree: _Tree
    arrays: Sequence[_StoredArray]


def write_index(file: IO[bytes], path: str, index: object) -> None:
    """Write an index: a struct of arrays, texts, numbers and further structs.

    `path` is the one of the file in its folder.
    """
    arrays: list[Numbers] = []
    tree = _tree(index, arrays)
    packed = [pack(each.tobytes()) for each in arrays]
    stored = [
        _StoredArray(each.dtype.str, each.shape, block)
        for each, (block, _) in zip(arrays, packed, strict=True)
    ]
    write_header(file, MAGIC, path, msgspec.json.encode(_Header(tree, stored)))
    file.writelines(content for _, content in packed)


def read_index(file: IO[bytes], path: str) -> Any:
    """The index; Damaged when the file is not whole, or another than the one of this path."""
    header = msgspec.json.decode(read_header(file, MAGIC, path), type=_Header)
    arrays = [
        np.frombuffer(read_block(file, each.block), each.dtype).reshape(each.shape)
        for each in header.arrays
    ]
    return _value(header.tree, arrays)


def _tree(value: object, arrays: list[Numbers]) -> _Tree:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {ARRAY: len(arrays) - 1}
    if isinstance(value, Struct):
        names = type(value).__struct_fields__
        own = {name: _tree(getattr(value, name), arrays) for name in names}
        return {KIND: type(value).__name__, **own}
    if isinstance(value, Mapping):
        return {PAIRS: [[_tree(k, arrays), _tree(v, arrays)] for k, v in value.items()]}
    return value


def _value(tree: _Tree, arrays: Sequence[Numbers]) -> Any:
    if isinstance(tree, list):
        return [tuple(each) if isinstance(each, list) else each for each in tree]
    if not isinstance(tree, dict):
        return tree
    if ARRAY in tree:
        return arrays[tree[ARRAY]]
    if PAIRS in tree:
        return {_value(key, arrays): _value(value, arrays) for key, value in tree[PAIRS]}
    kind = INDEX_KINDS.get(tree.pop(KIND, ""))
    if kind is None or {*tree} != {field.name for field in structs.fields(kind)}:
        raise Damaged("an unknown kind of index")
    return kind(**{name: _value(each, arrays) for name, each in tree.items()})


log = logging.getLogger(__name__)

SUFFIX, SET_SUFFIX = ".index", ".set"
MOST_SETS = 2
"""Sets of one website of which indexes are stored; the last days are another set each day."""

RollupSet = frozenset[RollupKey]


class IndexStore:
    """The indexes in a folder of rollups, within its limit of bytes."""

    def __init__(self, folder: RollupStore) -> None:
        self._folder = folder

    def has(self, name: object, rollups: RollupSet) -> bool:
        """Whether there is an index of this name."""
        return is_there(self._path(name, rollups))

    def read(self, name: object, rollups: RollupSet) -> Any:
        """The index of this name; None when there is none, or it is damaged."""
        path = self._path(name, rollups)
        try:
            with open_regular(path) as file:
                index = read_index(file, _in_folder(path))
            for used in (path, self._set_path(rollups)):
                os.utime(used)
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            log.warning("cannot read an index", extra={"file": str(path), "error": str(error)})
            if is_damage(error):
                discard(path)
            return None
        return index

    def write(self, name: object, rollups: RollupSet, index: object) -> None:
        """Store an index; it appears whole, and what belongs to the oldest sets goes."""
        files = sorted(key.data_file for key in rollups)
        kind = _kind(rollups)
        own = self._path(name, rollups)
        self._folder.put(own, lambda file: write_index(file, _in_folder(own), index))
        self._folder.put(
            self._set_path(rollups), lambda file: file.write(msgspec.json.encode(files))
        )
        [website] = {key.website for key in rollups}
        for path in self._set_files(website, kind)[MOST_SETS:]:
            self._remove(path)

    def sets(self, website: str) -> Sequence[RollupSet]:
        """The sets that have indexes, the last used first."""
        found = ((path, _data_files(path) or ()) for path in self._set_files(website))
        sets = [(path, _set(website, path, files)) for path, files in found]
        return [rollups for path, rollups in sets if rollups and self._set_path(rollups) == path]

    def remove_others(
        self, website: str, data_files: Collection[str], kinds: Iterable[str] = KINDS
    ) -> None:
        """Remove the indexes of sets of these kinds with a rollup of none of these data files."""
        stored = set(data_files)
        for path in [path for kind in kinds for path in self._set_files(website, kind)]:
            if not stored.issuperset(_data_files(path) or [""]):
                self._remove(path)

    def _remove(self, set_path: Path) -> None:
        for path in set_path.parent.glob(f"{set_path.stem}-*{SUFFIX}"):
            discard(path)
        discard(set_path)

    def _set_files(self, website: str, kind: str = "*") -> Sequence[Path]:
        """The last used first, of one kind of rollups or of all."""
        paths = self._folder.of_website(website).glob(f"{kind}-*{SET_SUFFIX}")
        return sorted(paths, key=_used, reverse=True)

    def _set_path(self, rollups: RollupSet) -> Path:
        [website] = {key.website for key in rollups}
        name = f"{_kind(rollups)}-{_digest(sorted(rollups))}{SET_SUFFIX}"
        return self._folder.of_website(website) / name

    def _path(self, name: object, rollups: RollupSet) -> Path:
        of_set = self._set_path(rollups)
        return of_set.with_name(f"{of_set.stem}-{_digest((name, revision()))}{SUFFIX}")


def _in_folder(path: Path) -> str:
    """As the paths of rollups: the website's folder and the name."""
    return f"{path.parent.name}/{path.name}"


def _set(website: str, path: Path, data_files: Sequence[str]) -> RollupSet:
    """The rollups of data files, of the kind that the name of the file of a set begins with."""
    kind = path.name.partition("-")[0]
    return frozenset(RollupKey(website, each, kind) for each in data_files)


def _kind(rollups: RollupSet) -> str:
    [kind] = {key.kind for key in rollups}
    return kind


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:24]


def _data_files(path: Path) -> Sequence[str] | None:
    """What a file of a set names; None when it is gone or damaged, and then it is removed."""
    try:
        with open_regular(path) as file:
            return msgspec.json.decode(file.read(), type=list[str])
    except FileNotFoundError:
        return None
    except UNREADABLE:
        discard(path)
        return None


def _used(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


LEAST_SECONDS, LEAST_BYTES = 0.05, 64 * 1024
"""An index is stored that took so long or has so many bytes; others are made as quickly as read."""
KEY_BYTES = 100
"""Of the key of a rollup in memory, about."""
MOST_KNOWN = 8
"""Sets of rollups of one website that are looked at."""
MOST_TIMES = 4
"""Rollups of a set by those asked for: small ranges would take time for all of its rows."""
FEW_ROLLUPS, FEW_ROWS = 12, 4_000_000
"""Rollups, and rows of their data files, of which no index but that of numbers is made: a day is
joined with the day before and the day after it, which have rollups of its sessions."""
WRITER = ThreadPoolExecutor(1, thread_name_prefix="indexes")
"""Writes behind the queries that indexes were made for."""


def is_small(rollups: RollupSet, data_files: Iterable[DataFile]) -> bool:
    """Whether queries of these rollups, such as those of a day, read the rows without an index.

    Rows are counted once in less time than they are sorted.
    """
    if len(rollups) > FEW_ROLLUPS:
        return False
    read = {key.data_file for key in rollups}
    return sum(file.rows for file in data_files if file.path in read) <= FEW_ROWS


def _has_all(rollups: RollupSet, wanted: RollupSet, stored: Collection[str]) -> bool:
    """Whether a set has all that are wanted, and is of stored data files."""
    return wanted <= rollups and all(key.data_file in stored for key in rollups)


class IndexCache:
    """Indexes of all websites, in memory and in files; safe for several threads."""

    def __init__(
        self,
        memory: ByteCache,
        folder: IndexStore,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory = memory
        self._folder = folder
        self._monotonic = monotonic

    def made(
        self, name: object, rollups: RollupSet, make: Callable[[], Any], *, stored: bool = True
    ) -> Any:
        """The index of this name of a set of rollups; it is made when there is none.

        One that is not `stored` stays in memory only.
        """
        missing = partial(self._read_or_make, name, rollups, make) if stored else make
        return self._memory.made((name, rollups), missing)

    def rollup_set(
        self,
        wanted: RollupSet,
        stored: Collection[str],
        *,
        is_kept: bool = True,
        index: str | None = None,
    ) -> RollupSet:
        """A set with these rollups: the last used one that has more of them, but not too many.

        One of which there is an `index` comes first, and may have any number of them. All its
        rollups are of stored data files: what is made of a set has the rows of all of them.
        Those asked for serve later queries if the set `is_kept`.
        """
        [website] = {key.website for key in wanted}
        known: Sequence[RollupSet] | None = self._memory.get(("sets", website))
        if known is None:
            known = self._folder.sets(website)
            self._keep_sets(website, known)
        useful = [rollups for rollups in known if _has_all(rollups, wanted, stored)]
        if index is not None:
            for rollups in useful:
                if self._memory.get((index, rollups)) or self._folder.has(index, rollups):
                    return rollups
        for rollups in useful:
            if len(rollups) <= MOST_TIMES * len(wanted):
                return rollups
        if is_kept:
            self._keep_sets(website, [wanted, *known][:MOST_KNOWN])
        return wanted

    def forget_sets(self, website: str) -> None:
        """Forget all sets of a website, one of which has a rollup that is gone."""
        self._keep_sets(website, ())

    def _keep_sets(self, website: str, sets: Sequence[RollupSet]) -> None:
        self._memory.put(("sets", website), sets, KEY_BYTES * (1 + sum(map(len, sets))))

    def _read_or_make(self, name: object, rollups: RollupSet, make: Callable[[], Any]) -> Any:
        index = self._folder.read(name, rollups)
        if index is None:
            began = self._monotonic()
            index = make()
            if self._monotonic() - began >= LEAST_SECONDS or index.size >= LEAST_BYTES:
                WRITER.submit(self._write, name, rollups, index)
        return index

    def _write(self, name: object, rollups: RollupSet, index: object) -> None:
        try:
            self._folder.write(name, rollups, index)
        except Exception as error:  # the index is in memory; the next process makes it anew
            log.warning("index was not stored", extra={"error": str(error)})


def pack(raw: bytes) -> tuple[Block, bytes]:
    """A block, and its bytes as they are stored."""
    from pyarrow import compress  # large; services that prepare nothing go without it

    stored = compress(raw, CODEC, asbytes=True)
    return Block(len(raw), len(stored), zlib.crc32(stored)), stored


def read_block(file: IO[bytes], block: Block) -> bytes:
    """The bytes of a block that begins here; Damaged when they are not whole."""
    from pyarrow import decompress  # as in `pack`

    stored = file.read(block.stored_size)
    if len(stored) != block.stored_size or zlib.crc32(stored) != block.checksum:
        raise Damaged("a block")
    raw: bytes = decompress(stored, block.size, CODEC, asbytes=True) if block.size else b""
    return raw


def write_header(
    file: IO[bytes], magic: bytes, path: str, text: bytes, level: int | None = None
) -> None:
    """Write the header; a higher compression level finds texts that stand twice."""
    from pyarrow import Codec  # as in `pack`

    stored = Codec(CODEC, compression_level=level).compress(text, asbytes=True)
    file.write(HEAD.pack(magic, len(text), len(stored), _checksum(path, len(text), stored)))
    file.write(stored)


def read_header(file: IO[bytes], magic: bytes, path: str) -> bytes:
    """The text of the header, behind which the blocks begin; Damaged when it is another file."""
    from pyarrow import decompress  # as in `pack`

    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise Damaged("too short")
    found, text_size, size, checksum = HEAD.unpack(head)
    stored = file.read(size)
    if found != magic or len(stored) != size or _checksum(path, text_size, stored) != checksum:
        raise Damaged("another header")
    text: bytes = decompress(stored, text_size, CODEC, asbytes=True)
    return text


def _checksum(path: str, text_size: int, stored: bytes) -> int:
    """Of the file's path, what is allocated for the header, and the stored header."""
    return zlib.crc32(stored, zlib.crc32(path.encode(), text_size))
