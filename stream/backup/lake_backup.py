"""Takes a backup of lake and registry while everything runs.

Data files never change, but vacuum deletes those that a compaction replaced a while ago. So a
backup holds nothing back: it copies the files of the pinned versions, the newest first because they
are replaced soonest, and pins again when one is gone. The next round copies only what is new, so it
ends long before vacuum comes again. A backup that is killed leaves files that the next one uses.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version

from msgspec import Struct, structs

from schemas.lake.data_files import CHECKSUM_LENGTH, named_checksum
from schemas.registry import RegistryStore
from schemas.registry.backups import BACKUP_FOLDER, encode_backup
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import PREFIX, mask_secrets
from schemas.runtime.settings import Settings
from stream.backup.backed_up_erasures import write_erasures
from stream.backup.file_store import FileEntry, FileStore, file_store
from stream.backup.manifest import (
    FILES,
    BackupTable,
    Manifest,
    StoredFile,
    backup_id,
    backup_ids,
    newest_manifest,
    write_manifest,
)
from stream.backup.pinned_tables import PINNED_TABLES, PinnedFile, PinnedTable, pin_tables

log = logging.getLogger(__name__)

MEGABYTE = 1_048_576
MAX_ROUNDS = 20
REUSE_MS = 24 * 3_600_000
"""Age up to which a file of a backup that was killed is used; `prune` waits longer than that."""


class BackupFailed(Exception):
    """No backup was written; the message says why and what to do."""


class NothingToBackUp(BackupFailed):
    """No table and no organization was ever created."""


class BackupResult(Struct, frozen=True, rename="camel"):
    """A backup that was written."""

    manifest: Manifest
    files: int
    size: int
    copied_files: int
    copied_size: int
    seconds: float


class Pace:
    """Limits a rate: called with each number of bytes, it waits as long as they should take."""

    def __init__(self, megabytes_per_second: float = 0) -> None:
        self._rate = megabytes_per_second * MEGABYTE
        self._free_at = time.monotonic()

    def __call__(self, size: int) -> None:
        if not self._rate:
            return
        now = time.monotonic()
        self._free_at = max(self._free_at, now) + size / self._rate
        time.sleep(self._free_at - now)


Progress = Callable[[int, int], None]
"""Called with the number of files and bytes that were looked at so far."""


def take_backup(
    settings: Settings,
    target: FileStore,
    pace: Callable[[int], None] = lambda size: None,  # noqa: ARG005
    progress: Progress = lambda files, size: None,  # noqa: ARG005
) -> BackupResult:
    """Write a backup to the target; BackupFailed, UnreadableTable or OSError when there is none."""
    if any(target.entries(f"{table.name}/_delta_log") for table in PINNED_TABLES):
        raise BackupFailed(
            "the target has tables itself; give a folder of its own, on another disk"
        )
    started, lake = time.monotonic(), file_store(settings.lake_url)
    copier = _Copier(lake, target, pace, progress)
    gone: set[str] = set()
    for _ in range(MAX_ROUNDS):
        taken_ms = now_ms()
        pinned = pin_tables(settings)
        missing = copier.copy_data_files(pinned)
        if missing <= gone:  # they are in the newest versions, and were missing before
            break
        gone |= missing
    else:
        raise BackupFailed(
            "data files were deleted faster than they were copied; set "
            "TIDEMARK_TOMBSTONE_MINUTES higher, or give no --limit-mb"
        )
    tables = [copier.table(table) for table in pinned]
    registry = _copy_registry(settings, target, copier)
    if not tables and registry is None:
        raise NothingToBackUp(
            f"there is nothing to back up: no table in {settings.lake_url} and no organization"
        )
    manifest = Manifest(
        1,
        _new_id(target, taken_ms),
        taken_ms,
        version("tidemark"),
        tables,
        registry,
        _set(settings),
    )
    files = list(manifest.files())
    present = target.entries(FILES)
    if lost := [file.path for file in files if file.stored_path not in present]:
        raise BackupFailed(
            f"{len(lost)} files disappeared from the target during the backup, such as {lost[0]}; "
            "run it again"
        )
    write_manifest(target, manifest)
    return BackupResult(
        manifest,
        len(files),
        sum(file.size for file in files),
        copier.copied_files,
        copier.copied_size,
        round(time.monotonic() - started, 3),
    )


class _Copier:
    """Copies files that the target does not have yet, and notes what it has of each."""

    def __init__(
        self, lake: FileStore, target: FileStore, pace: Callable[[int], None], progress: Progress
    ) -> None:
        self._lake, self._target, self._pace, self._progress = lake, target, pace, progress
        self._present: Mapping[str, FileEntry] = target.entries(FILES)
        newest = newest_manifest(target)
        self._backed_up = {
            file.path: file
            for table in (newest.tables if newest else ())
            for file in table.data_files
            if not file.problem
        }
        self._done: dict[str, StoredFile] = {}
        self._size = 0
        self.copied_files = 0
        self.copied_size = 0

    def copy_data_files(self, pinned: Sequence[PinnedTable]) -> set[str]:
        """Copy all data files, the newest days first; returns the paths of missing ones."""
        files = [
            (f"{table.name}/{file.path}", file) for table in pinned for file in table.data_files
        ]
        missing: set[str] = set()
        for path, file in sorted(files, key=lambda entry: entry[1].day, reverse=True):
            if path in self._done and self._done[path].sha256:
                continue
            try:
                self._done[path] = self._copy_data_file(path, file)
            except FileNotFoundError:
                missing.add(path)
                self._done[path] = StoredFile(path, 0, "", "was missing in the lake")
            self._size += file.size
            self._progress(len(self._done), self._size)
        return missing

    def table(self, pinned: PinnedTable) -> BackupTable:
        """Copy the log of a table whose data files were copied."""
        folder = f"{pinned.name}/_delta_log"
        return BackupTable(
            pinned.name,
            pinned.version,
            pinned.rows,
            pinned.received_until_ms,
            pinned.numbers,
            [self.copy_bytes(f"{folder}/{name}", data) for name, data in pinned.log.items()],
            [self._done[f"{pinned.name}/{file.path}"] for file in pinned.data_files],
        )

    def copy_bytes(self, path: str, content: bytes) -> StoredFile:
        """Copy a small file that is in memory."""
        file = StoredFile(path, len(content), hashlib.sha256(content).hexdigest())
        if not self._is_present(file, is_backed_up=False):
            self._write(file.stored_path, [content])
        return file

    def _copy_data_file(self, path: str, pinned: PinnedFile) -> StoredFile:
        backed_up = self._backed_up.get(path)
        if backed_up and self._is_present(backed_up, is_backed_up=True):
            return backed_up
        blocks = self._lake.blocks(path)
        first = next(blocks, b"")  # FileNotFoundError of the lake, not of the target
        present, digest, size = StoredFile(path, pinned.size, ""), hashlib.sha256(), 0

        def read() -> Iterator[bytes]:
            nonlocal size
            for block in _joined(first, blocks):
                digest.update(block)
                size += len(block)
                yield block

        if self._is_present(present, is_backed_up=False):
            for _ in read():
                pass
        else:
            self._write(present.stored_path, read())
        sha256, name = digest.hexdigest(), named_checksum(path)
        problem = "had a wrong checksum" if name and sha256[:CHECKSUM_LENGTH] != name else ""
        if size != pinned.size:
            problem = f"had {size} bytes, not {pinned.size}"
        if problem:
            self._target.remove(present.stored_path)
            return StoredFile(path, 0, "", problem)
        return StoredFile(path, size, sha256)

    def _is_present(self, file: StoredFile, *, is_backed_up: bool) -> bool:
        """Whether the target has a file; one that no backup names only while it is young."""
        entry = self._present.get(file.stored_path)
        if entry is None or entry.size != file.size:
            return False
        return is_backed_up or now_ms() - entry.modified_ms < REUSE_MS

    def _write(self, path: str, blocks: Iterable[bytes]) -> None:
        self._target.put(path, self._paced(blocks))
        self.copied_files += 1

    def _paced(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self._pace(len(block))
            self.copied_size += len(block)
            yield block


def _joined(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from others


def _copy_registry(settings: Settings, target: FileStore, copier: _Copier) -> StoredFile | None:
    """The records as they are now; None for a registry that was never written to."""
    store = RegistryStore(settings.registry_url)
    try:
        contents = store.read_contents()
    finally:
        store.close()
    if not contents.stamp.revision:
        return None
    write_erasures(target, contents.erasures)
    name, content = encode_backup(contents, now_ms())
    return copier.copy_bytes(f"{BACKUP_FOLDER}/{name}", content)


def _new_id(target: FileStore, taken_ms: int) -> str:
    """The id of this time, or of the next second that has no backup."""
    taken = set(backup_ids(target))
    while (identifier := backup_id(taken_ms)) in taken:
        taken_ms += 1_000
    return identifier


def _set(settings: Settings) -> Mapping[str, str]:
    return {
        PREFIX + field.name.upper(): mask_secrets(str(value))
        for field in structs.fields(Settings)
        if (value := getattr(settings, field.name)) != field.default
    }
