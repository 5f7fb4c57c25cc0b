"""Restores a backup into an empty folder or bucket.

Data files first, then the logs, last the registry: without a log there is no table, without a
registry no key is valid. A file in the data folder says that a restore has begun and not ended, so
that nothing starts on half of it and the same restore can be run again. Each table then has one
version, the pinned one, as a checkpoint. Its next offsets are those of the backup, so workers read
on from there while Kafka has the rest.

Erasures of all times, those after the backup included, are carried out before the registry is
there: then the one version is that without the erased rows, and no query ever sees them.
"""

import hashlib
import logging
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from schemas.kinds import lake_tables
from schemas.lake.committed_offsets import epoch_app_id
from schemas.lake.delta_log import LAST_CHECKPOINT_FILE, LOG_FOLDER, checkpoint_name, entry_name
from schemas.lake.delta_table import open_table
from schemas.registry import Backups, Erasure, ErasureState, RegistryStore, database
from schemas.registry.backup_files import write_durably
from schemas.registry.contents import Contents
from schemas.registry.restore import is_empty, registry_fault
from schemas.registry.restore import restore as restore_registry
from schemas.registry.tombstones import begun_again
from schemas.runtime.clock import now_ms
from schemas.runtime.restore_state import read_restore_state, write_restore_state
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.backup.backed_up_erasures import ErasureDamaged, read_erasures
from stream.backup.file_store import FileStore, file_store
from stream.backup.manifest import (
    BackupTable,
    Manifest,
    ManifestDamaged,
    StoredFile,
    backup_ids,
    read_manifest,
)

log = logging.getLogger(__name__)

PROBE_FOLDER = "_probe/"
"""What a start leaves in a bucket before it has a table."""
_EPOCH = re.compile(rf"{epoch_app_id('')}[^/]+")

_OTHER_BACKUP = "choose another backup with --backup, or run tidemark backup verify"


CarryOut = Callable[[Settings], Mapping[str, ErasureState]]
"""Carries out pending erasures on restored tables; the state of each afterwards."""


class RestoreRefused(Exception):
    """Nothing was restored; the message says why and what to do."""


class RestoreFailed(Exception):
    """A file without which nothing can be restored is damaged in the target."""


class RestoreResult(Struct, frozen=True):
    """A backup that was restored."""

    manifest: Manifest
    files: int
    size: int
    problems: Sequence[StoredFile]
    """Data files that were damaged: queries that need them fail until they are given up."""
    seconds: float
    erasures: int = 0
    """Erasures that were carried out on what was restored."""
    unfinished: Sequence[str] = ()
    """Those that wait for a damaged data file."""

    @property
    def next_epoch(self) -> int:
        """The setting `ingest_epoch` with which another Kafka is read from its first message."""
        epochs = [
            number
            for table in self.manifest.tables
            for name, number in table.numbers.items()
            if _EPOCH.fullmatch(name)
        ]
        return max(epochs, default=1) + 1


def check_destination(settings: Settings, manifest: Manifest) -> None:
    """RestoreRefused when there are tables or a registry, unless the same restore was stopped."""
    state = read_restore_state(settings.data)
    if state and state.state == "running" and state.backup == manifest.id:
        return
    present = [path for path in file_store(settings.lake_url).entries("") if _is_in_use(path)]
    if present:
        raise RestoreRefused(
            f"{settings.lake_url} is not empty (it has {present[0]}); restore into another folder "
            "or bucket, and switch over when the result is right"
        )
    path = database.sqlite_path(settings.registry_url)
    is_used = path.exists() if path else not _is_unused_server(settings.registry_url)
    if is_used:
        raise RestoreRefused(
            "there is a registry already; restore into another folder, or set TIDEMARK_REGISTRY to "
            "an empty database"
        )


def _is_in_use(path: str) -> bool:
    return not path.startswith(PROBE_FOLDER)


def _is_unused_server(url: str) -> bool:
    return registry_fault(url) is not None or is_empty(url)


def restore(
    target: FileStore,
    manifest: Manifest,
    settings: Settings,
    actor: str,
    carry_out: CarryOut,
    progress: Callable[[int, int], None] = lambda files, size: None,  # noqa: ARG005
) -> RestoreResult:
    """Restore lake and registry to where the settings say, which `check_destination` has checked.

    RestoreFailed when a log or the registry is damaged in the target; data files that are damaged
    are left out and named. `carry_out` removes the rows of pending erasures. Run again, it uses
    what is there.
    """
    started_ms = now_ms()
    settings.data.mkdir(parents=True, exist_ok=True)
    write_restore_state(settings.data, manifest.id, "running")
    restorer = _Restorer(target, file_store(settings.lake_url, mode=0o666), progress)
    data_files = [file for table in manifest.tables for file in table.data_files]
    problems = [file for file in map(restorer.copy_data_file, data_files) if file.problem]
    contents = _registry_contents(target, manifest.registry) if manifest.registry else None
    for table in manifest.tables:
        restorer.restore_log(table, settings)
    erasures: Mapping[str, ErasureState] = {}
    if contents and contents.erasures:
        contents, erasures = _erased(contents, settings, carry_out)
        for table in manifest.tables:
            restorer.keep_newest_version(table, settings)
    if contents and manifest.registry:
        _restore_registry(target, manifest.registry, contents, settings, actor)
    write_restore_state(settings.data, manifest.id, "done")
    return RestoreResult(
        manifest,
        restorer.files,
        restorer.size,
        problems,
        (now_ms() - started_ms) / 1000,
        len(erasures),
        [erasure for erasure, state in erasures.items() if state is ErasureState.PENDING],
    )


class _Restorer:
    """Copies files of a target into a lake, and compares each with its checksum."""

    def __init__(
        self, target: FileStore, lake: FileStore, progress: Callable[[int, int], None]
    ) -> None:
        self._target, self._lake, self._progress = target, lake, progress
        self._present = lake.entries("")
        for path in self._present:
            if path.rpartition("/")[2].startswith("."):  # of a restore that was killed
                lake.remove(path)
        self.files = 0
        self.size = 0

    def copy_data_file(self, file: StoredFile) -> StoredFile:
        """Copy a data file; returned with its problem when the target has it no more."""
        entry = self._present.get(file.path)
        if not file.problem and not (entry and entry.size == file.size):
            problem = self._copy(file)
            if problem:
                self._lake.remove(file.path)
                return structs.replace(file, problem=problem)
        self.files += 1
        self.size += file.size
        self._progress(self.files, self.size)
        return file

    def restore_log(self, table: BackupTable, settings: Settings) -> None:
        """Copy the log, and reduce it to the one version whose data files are there."""
        for path in self._lake.entries(f"{table.name}/{LOG_FOLDER}"):
            self._lake.remove(path)  # of a restore that was killed
        for file in table.log:
            if problem := self._copy(file):
                raise RestoreFailed(
                    f"{file.stored_path} {problem}, and table {table.name} needs it; "
                    f"{_OTHER_BACKUP}"
                )
        [declared] = [one for one in lake_tables() if one.name == table.name]
        handle = open_table(settings.lake_url, declared, table.version)
        assert handle  # noqa: S101 - its log was just written
        handle.create_checkpoint()
        self._remove_log_before(declared, table.version)

    def keep_newest_version(self, table: BackupTable, settings: Settings) -> None:
        """Remove the version of the backup, data files included, when erasures replaced it."""
        [declared] = [one for one in lake_tables() if one.name == table.name]
        handle = open_table(settings.lake_url, declared)
        assert handle  # noqa: S101 - it was restored
        if handle.version() == table.version:
            return
        handle.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        handle.create_checkpoint()
        self._remove_log_before(declared, handle.version())

    def _remove_log_before(self, table: Table, version: int) -> None:
        """Remove all of the log but the checkpoint and the entry of this version."""
        last = {checkpoint_name(version), entry_name(version), LAST_CHECKPOINT_FILE}
        for path in self._lake.entries(f"{table.name}/{LOG_FOLDER}"):
            if path.rpartition("/")[2] not in last:
                self._lake.remove(path)

    def _copy(self, file: StoredFile) -> str | None:
        """Copy a file; its problem as the end of a sentence."""
        digest = hashlib.sha256()

        def read() -> Iterator[bytes]:
            for block in self._target.blocks(file.stored_path):
                digest.update(block)
                yield block

        try:
            self._lake.put(file.path, read())
        except FileNotFoundError:
            return "is missing in the backup"
        return None if digest.hexdigest() == file.sha256 else "is damaged in the backup"


def _registry_contents(target: FileStore, file: StoredFile) -> Contents:
    """The records of a backup, with the erasures of all times."""
    contents = _decoded(_read_registry(target, file))
    newest = _newest_contents(target) or contents
    try:
        erasures = list(read_erasures(target))
    except ErasureDamaged as error:
        raise RestoreFailed(
            f"{error} is damaged in the backup, so what it erased would be visible again; "
            "remove the file, and back up to this target once more if the old machine still runs; "
            "else restore, and erase that visitor again"
        ) from error
    return with_erasures(contents, (*newest.erasures, *erasures))


def _erased(
    contents: Contents, settings: Settings, carry_out: CarryOut
) -> tuple[Contents, Mapping[str, ErasureState]]:
    """The contents after their erasures were carried out, by a registry that nobody else reads."""
    with tempfile.TemporaryDirectory(prefix="tidemark-restore-") as folder:
        apart = structs.replace(settings, registry=f"sqlite:///{folder}/registry.db")
        restore_registry(apart.registry_url, contents, 1, now_ms())
        states = carry_out(apart)
        store = RegistryStore(apart.registry_url)
        try:
            return structs.replace(contents, erasures=store.list(Erasure)), states
        finally:
            store.close()


def _restore_registry(
    target: FileStore, file: StoredFile, contents: Contents, settings: Settings, actor: str
) -> None:
    backups = Backups.for_settings(settings)
    write_durably(backups.folder, file.path.rpartition("/")[2], _read_registry(target, file))
    backup = backups.newest()
    assert backup  # noqa: S101 - it was just written
    revision = max(backups.last_revision(), backup.header.stamp.revision) + 1
    restore_registry(settings.registry_url, contents, revision, now_ms(), actor)


def with_erasures(contents: Contents, others: Iterable[Erasure]) -> Contents:
    """The contents with the erasures of other states, all to be carried out again.

    The tables have rows that were erased after their versions, so a state of then means nothing.
    An erasure of a website or link that the contents do not have has nothing to erase.
    """
    organizations = {organization.id for organization in contents.organizations}
    subjects = {record.id for record in (*contents.websites, *contents.links)} | {None}
    by_change = sorted((*contents.erasures, *others), key=lambda erasure: erasure.updated_at)
    latest = {erasure.id: erasure for erasure in by_change}
    erasures = [
        begun_again(erasure, now_ms())
        for erasure in latest.values()
        if erasure.organization_id in organizations
        and {erasure.website_id, erasure.link_id} <= subjects
    ]
    return structs.replace(contents, erasures=erasures)


def _newest_contents(target: FileStore) -> Contents | None:
    """The records of the newest backup whose registry is whole."""
    for identifier in backup_ids(target):
        try:
            manifest = read_manifest(target, identifier)
            if manifest.registry:
                return _decoded(_read_registry(target, manifest.registry))
        except (ManifestDamaged, RestoreFailed) as error:
            log.warning("later erasures are not known", extra={"reason": str(error)})
    return None


def _decoded(registry: bytes) -> Contents:
    return msgspec.json.decode(registry.split(b"\n")[1], type=Contents)


def _read_registry(target: FileStore, file: StoredFile) -> bytes:
    try:
        content = b"".join(target.blocks(file.stored_path))
    except FileNotFoundError:
        content = b""
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise RestoreFailed(
            f"{file.stored_path} (registry) is missing or damaged in the backup; {_OTHER_BACKUP}"
        )
    return content
