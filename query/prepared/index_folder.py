"""Files of indexes beside the parts that they were made from, so that a restart makes none anew.

An index belongs to a set of parts, and is as right as they are. A file names each set that has
indexes. Everything here is derived: a file that is missing or damaged costs time only.
"""

import hashlib
import logging
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from query.prepared.checked_file import UNREADABLE
from query.prepared.index_file import read_index, revision, write_index
from query.prepared.part_folder import PartFolder, PartKey, discard, is_there, open_regular
from query.prepared.part_kinds import KINDS

log = logging.getLogger(__name__)

SUFFIX, SET_SUFFIX = ".index", ".set"
MOST_SETS = 2
"""Sets of one website of which indexes are stored; the last days are another set each day."""

PartSet = frozenset[PartKey]


class IndexFolder:
    """The indexes in a folder of parts, within its limit of bytes."""

    def __init__(self, folder: PartFolder) -> None:
        self._folder = folder

    def has(self, name: object, parts: PartSet) -> bool:
        """Whether there is an index of this name."""
        return is_there(self._path(name, parts))

    def read(self, name: object, parts: PartSet) -> Any:
        """The index of this name; None when there is none, or it is damaged."""
        path = self._path(name, parts)
        try:
            with open_regular(path) as file:
                index = read_index(file, _in_folder(path))
            for used in (path, self._set_path(parts)):
                os.utime(used)
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            log.warning("index is damaged", extra={"file": str(path), "error": str(error)})
            discard(path)
            return None
        return index

    def write(self, name: object, parts: PartSet, index: object) -> None:
        """Store an index; it appears whole, and what belongs to the oldest sets goes."""
        files = sorted(key.data_file for key in parts)
        kind = _kind(parts)
        own = self._path(name, parts)
        self._folder.put(own, lambda file: write_index(file, _in_folder(own), index))
        self._folder.put(self._set_path(parts), lambda file: file.write(msgspec.json.encode(files)))
        [website] = {key.website for key in parts}
        for path in self._set_files(website, kind)[MOST_SETS:]:
            self._remove(path)

    def sets(self, website: str) -> Sequence[PartSet]:
        """The sets that have indexes, the last used first."""
        found = ((path, _data_files(path) or ()) for path in self._set_files(website))
        sets = [(path, _set(website, path, files)) for path, files in found]
        return [parts for path, parts in sets if parts and self._set_path(parts) == path]

    def remove_others(
        self, website: str, data_files: Collection[str], kinds: Iterable[str] = KINDS
    ) -> None:
        """Remove the indexes of sets of these kinds with a part of none of these data files."""
        stored = set(data_files)
        for path in [path for kind in kinds for path in self._set_files(website, kind)]:
            if not stored.issuperset(_data_files(path) or [""]):
                self._remove(path)

    def _remove(self, set_path: Path) -> None:
        for path in set_path.parent.glob(f"{set_path.stem}-*{SUFFIX}"):
            discard(path)
        discard(set_path)

    def _set_files(self, website: str, kind: str = "*") -> Sequence[Path]:
        """The last used first, of one kind of parts or of all."""
        paths = self._folder.of_website(website).glob(f"{kind}-*{SET_SUFFIX}")
        return sorted(paths, key=_used, reverse=True)

    def _set_path(self, parts: PartSet) -> Path:
        [website] = {key.website for key in parts}
        name = f"{_kind(parts)}-{_digest(sorted(parts))}{SET_SUFFIX}"
        return self._folder.of_website(website) / name

    def _path(self, name: object, parts: PartSet) -> Path:
        of_set = self._set_path(parts)
        return of_set.with_name(f"{of_set.stem}-{_digest((name, revision()))}{SUFFIX}")


def _in_folder(path: Path) -> str:
    """As the paths of parts: the website's folder and the name."""
    return f"{path.parent.name}/{path.name}"


def _set(website: str, path: Path, data_files: Sequence[str]) -> PartSet:
    """The parts of data files, of the kind that the name of the file of a set begins with."""
    kind = path.name.partition("-")[0]
    return frozenset(PartKey(website, each, kind) for each in data_files)


def _kind(parts: PartSet) -> str:
    [kind] = {key.kind for key in parts}
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
