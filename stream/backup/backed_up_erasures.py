"""Erasures beside the backups of a target, so that a restore knows those made after a backup.

One file for each erasure, `erasures/<id>.json`: tombstones and report, without the values. A
restore applies all of them, whichever backup it is of.
"""

from collections.abc import Collection, Iterator

import msgspec
from msgspec import structs

from schemas.registry import Erasure
from stream.backup.file_store import FileStore

ERASURES = "erasures"


class ErasureDamaged(Exception):
    """The file at this path says no more whose rows were erased."""


def write_erasures(target: FileStore, erasures: Collection[Erasure]) -> int:
    """Write the erasures that the target lacks or has of an earlier time; how many those were."""
    wanted = [erasure for erasure in erasures if not erasure.state.is_dry_run]
    if not wanted:
        return 0
    present = target.entries(ERASURES)
    written = 0
    for erasure in wanted:
        path = f"{ERASURES}/{erasure.id}.json"
        entry = present.get(path)
        if entry is None or entry.modified_ms <= erasure.updated_at:
            target.put(path, [msgspec.json.encode(structs.replace(erasure, erased_values=()))])
            written += 1
    return written


def read_erasures(target: FileStore) -> Iterator[Erasure]:
    """All erasures of a target; ErasureDamaged at one that cannot be read."""
    for path in _paths(target):
        yield _read(target, path)


def damaged_erasures(target: FileStore) -> Iterator[str]:
    """The paths of the erasures that cannot be read."""
    for path in _paths(target):
        try:
            _read(target, path)
        except ErasureDamaged:
            yield path


def _paths(target: FileStore) -> Iterator[str]:
    for path in target.entries(ERASURES):
        if path.endswith(".json") and not path.rpartition("/")[2].startswith("."):
            yield path


def _read(target: FileStore, path: str) -> Erasure:
    try:
        return msgspec.json.decode(b"".join(target.blocks(path)), type=Erasure)
    except (msgspec.DecodeError, FileNotFoundError) as error:
        raise ErasureDamaged(path) from error
