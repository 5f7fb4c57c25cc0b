"""Erasures beside the backups of a target, so that a restore knows those made after a backup.

One file for each erasure, `erasures/<id>.json`: tombstones and report, without the values. A
restore applies all of them, whichever backup it is of.
"""

import logging
from collections.abc import Collection, Iterator

import msgspec
from msgspec import structs

from schemas.registry import Erasure
from stream.backup.file_store import FileStore

log = logging.getLogger(__name__)

ERASURES = "erasures"


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
    """All erasures of a target; one that cannot be read is logged."""
    for path in target.entries(ERASURES):
        if not path.endswith(".json") or path.rpartition("/")[2].startswith("."):
            continue
        try:
            yield msgspec.json.decode(b"".join(target.blocks(path)), type=Erasure)
        except (msgspec.DecodeError, FileNotFoundError) as error:
            log.warning("erasure not readable", extra={"path": path, "reason": str(error)})
