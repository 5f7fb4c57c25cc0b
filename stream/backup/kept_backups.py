"""The backups that a target has: list, verify, prune."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from schemas.runtime.clock import format_instant, now_ms
from schemas.tables import LEDGER, QUARANTINE
from stream.backup.backed_up_erasures import damaged_erasures
from stream.backup.file_store import FileStore
from stream.backup.manifest import (
    FILES,
    MANIFESTS,
    Manifest,
    ManifestDamaged,
    StoredFile,
    backup_ids,
    read_manifest,
    remove_manifest,
)

DAY_MS = 86_400_000
SIDE_TABLES = (LEDGER.name, QUARANTINE.name)
GRACE_MS = 3 * DAY_MS
"""Files that no backup names are deleted at this age: a running backup may be about to name them.

It uses those that are younger than a day (`lake_backup.REUSE_MS`), so it may take two days.
"""


class BackupSummary(Struct, frozen=True, rename="camel"):
    """One backup in a list."""

    id: str
    taken_at: str | None = None
    rows: int = 0
    """Of the items' tables."""
    files: int = 0
    megabytes: float = 0.0
    problem: str = ""


class BackupProblem(Struct, frozen=True, rename="camel"):
    """One file of a target that differs from its manifest."""

    backup: str
    """The newest backup that needs it."""
    path: str
    problem: str


class Pruned(Struct, frozen=True, rename="camel"):
    """What was removed, or would be."""

    backups: Sequence[str]
    files: int
    size: int


class NothingPruned(Exception):
    """The files of a kept backup are not known, so none can be removed."""


def list_backups(target: FileStore) -> Iterator[BackupSummary]:
    """All backups, newest first."""
    for identifier in backup_ids(target):
        try:
            manifest = read_manifest(target, identifier)
        except ManifestDamaged as error:
            yield BackupSummary(identifier, problem=str(error))
            continue
        files, missing = list(manifest.files()), len(manifest.problems)
        yield BackupSummary(
            identifier,
            format_instant(manifest.taken_ms),
            sum(table.rows for table in manifest.tables if table.name not in SIDE_TABLES),
            len(files),
            round(sum(file.size for file in files) / 1_048_576, 3),
            f"{missing} data files were damaged in the lake" if missing else "",
        )


def verify_backups(
    target: FileStore,
    identifiers: Sequence[str],
    progress: Callable[[int, int], None] = lambda files, size: None,  # noqa: ARG005
) -> Iterator[BackupProblem]:
    """Read each file of these backups once; yields those that differ from their manifest.

    Erasures belong to all backups: those that cannot be read are told with the first.
    """
    verified: set[str] = set()
    size = 0
    for identifier in identifiers:
        try:
            manifest = read_manifest(target, identifier)
        except ManifestDamaged as error:
            yield BackupProblem(identifier, f"{MANIFESTS}/{identifier}.json", str(error))
            continue
        for file in manifest.problems:
            yield BackupProblem(identifier, file.path, file.problem)
        for file in manifest.files():
            if file.stored_path in verified:
                continue
            verified.add(file.stored_path)
            if problem := _problem(target, file):
                yield BackupProblem(identifier, file.stored_path, problem)
            size += file.size
            progress(len(verified), size)
    for path in damaged_erasures(target):
        yield BackupProblem(next(iter(identifiers), ""), path, "is no readable erasure")


def _problem(target: FileStore, file: StoredFile) -> str | None:
    digest, size = hashlib.sha256(), 0
    try:
        for block in target.blocks(file.stored_path):
            digest.update(block)
            size += len(block)
    except FileNotFoundError:
        return "is missing"
    if size != file.size:
        return f"has {size} bytes, not {file.size}"
    return None if digest.hexdigest() == file.sha256 else "has a wrong checksum"


def prune(
    target: FileStore, keep_days: float, keep_last: int, *, is_dry_run: bool = False
) -> Pruned:
    """Remove backups older than so many days but the last ones, then files that none names.

    The newest one always stays. Nothing is removed while a manifest that stays is damaged.
    """
    present = target.entries(FILES)  # first: files of later backups are not in it
    identifiers = backup_ids(target)
    intact = dict(_intact(target, identifiers))
    newest = [identifier for identifier in identifiers if identifier in intact][: max(1, keep_last)]
    since_ms = now_ms() - keep_days * DAY_MS
    expired = [
        identifier
        for identifier, manifest in intact.items()
        if identifier not in newest and manifest.taken_ms < since_ms
    ]
    if damaged := [identifier for identifier in identifiers if identifier not in intact]:
        raise NothingPruned(
            f"the manifest of backup {damaged[0]} is damaged, so its files are not known; remove "
            f"{MANIFESTS}/{damaged[0]}.json from the target to give that backup up"
        )
    needed = {
        file.stored_path
        for identifier, manifest in intact.items()
        if identifier not in expired
        for file in manifest.files()
    }
    grace_ms = now_ms() - GRACE_MS
    unnamed = [
        path
        for path, entry in present.items()
        if path not in needed and entry.modified_ms < grace_ms
    ]
    if not is_dry_run:
        for identifier in expired:
            remove_manifest(target, identifier)
        for path in unnamed:
            target.remove(path)
    return Pruned(expired, len(unnamed), sum(present[path].size for path in unnamed))


def _intact(target: FileStore, identifiers: Iterable[str]) -> Iterator[tuple[str, Manifest]]:
    for identifier in identifiers:
        try:
            yield identifier, read_manifest(target, identifier)
        except ManifestDamaged:
            continue
        except FileNotFoundError:  # another prune removed it
            continue
