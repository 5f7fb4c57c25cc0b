"""Backups of the registry beside the lake: checksummed, one file per revision, pruned.

They lie in the folder of the lake, or in its bucket, where a new machine finds them when the old
one is lost. The first line is a header with the SHA-256 of the second; the second has all records
as JSON, with their ids and the hashes of API keys. Files are written atomically; local ones are
readable by their owner only. Pruning keeps the newest files and the last one of each of the last
days.

A backup is written when the registry changes, so its own time does not say when the registry was
read last. A file beside the backups of this machine does, to within half a minute: a restart
without the database must not make keys valid for longer.
"""

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

import msgspec
from msgspec import Struct

from schemas.lake.object_store import is_object_store
from schemas.registry import database
from schemas.registry.backup_files import (
    BackupFile,
    BackupFolder,
    BucketFolder,
    list_files,
    read_first_line,
    remove,
    write_durably,
)
from schemas.registry.contents import Contents, RegistryVersion
from schemas.registry.store import RegistryStore
from schemas.runtime.files import read_regular
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

BACKUP_FOLDER = "_registry"
"""Folder in the lake; table readers ignore names that begin with an underscore."""
COPY_FOLDER = "registry-copy"
"""Folder of the copies in the data folder."""
KEPT_NEWEST = 5
KEPT_DAYS = 7

LAST_READ_FILE = "last-read.json"
_NAME = re.compile(r"r\d{12}-\d{8}T\d{6}Z\.json")


class BackupDamaged(Exception):
    """The file is not a complete backup of a supported version."""


class BackupHeader(Struct, frozen=True, rename="camel"):
    """Header of a backup."""

    format: Literal[1]
    taken_ms: int
    stamp: RegistryVersion
    organizations: int
    sha256: str


class LastRead(Struct, frozen=True, rename="camel"):
    """A version, and the last time at which the registry had it, in ms since 1970."""

    stamp: RegistryVersion
    at_ms: int


class Backup(Struct, frozen=True):
    """One backup with a verified checksum."""

    path: BackupFile
    header: BackupHeader
    contents: Contents


class Backups:
    """The backups in one folder; errors of its disk or store are OSError."""

    def __init__(self, folder: BackupFolder, copy_folder: Path | None = None) -> None:
        self.folder = folder
        self.copy = Backups(copy_folder) if copy_folder else None
        """Copies that each machine keeps for itself, of what is on another one."""

    @classmethod
    def for_settings(cls, settings: Settings) -> Self:
        """Backups beside the tables; with copies when lake or registry is not on this machine."""
        is_server = database.sqlite_path(settings.registry_url) is None
        copy_folder = settings.data / COPY_FOLDER if is_server else None
        if is_object_store(settings.lake_url):
            bucket = BucketFolder(f"{settings.lake_url.rstrip('/')}/{BACKUP_FOLDER}")
            # Earlier builds had the backups in the folder of these copies.
            return cls(bucket, copy_folder or settings.data / BACKUP_FOLDER)
        lake = Path(settings.lake_url.removeprefix("file://"))
        return cls(lake / BACKUP_FOLDER, copy_folder)

    def newest(self) -> Backup | None:
        """The newest undamaged backup, or copy if that is newer.

        OSError when the backups cannot be listed and there is no copy.
        """
        copy = self.copy.newest() if self.copy else None
        try:
            own = self._newest()
        except OSError as error:
            if copy is None:
                raise
            log.warning("registry backups not readable", extra={"reason": str(error)})
            return copy
        if own is None or copy is None:
            return own or copy
        return max(own, copy, key=lambda backup: backup.header.taken_ms)

    def _newest(self) -> Backup | None:
        for path in self.paths():
            try:
                return read_backup(path)
            except (BackupDamaged, OSError) as error:
                log.warning("registry backup not readable", extra={"reason": str(error)})
        return None

    @property
    def is_remote(self) -> bool:
        """Whether each look at them is a request to an object store."""
        return isinstance(self.folder, BucketFolder)

    def newest_header(self) -> BackupHeader | None:
        """Header of the newest file, without reading the records."""
        for path in self.paths():
            with suppress(OSError, BackupDamaged):
                return _parse_header(path, read_first_line(path))
        return None

    def any_header(self) -> BackupHeader | None:
        """Header of the newest file, or of the newest copy where there is none.

        OSError when the backups cannot be listed and there is no copy.
        """
        copy = self.copy.newest_header() if self.copy else None
        try:
            return self.newest_header() or copy
        except OSError:
            if copy is None:
                raise
            return copy

    def last_revision(self) -> int:
        """The highest revision of all files."""
        return max((int(path.name[1:13]) for path in self.paths()), default=0)

    def write(self, contents: Contents, now_ms: int) -> BackupFile:
        """Write a backup durably and delete expired ones."""
        path = write_durably(self.folder, *encode_backup(contents, now_ms))
        for old in _expired(self.paths()):
            remove(old)
        return path

    def write_last_read(self, version: RegistryVersion, at_ms: int) -> None:
        """Write that the registry had this version; nothing without a local backup; OSError."""
        folder = self._local_folder
        if folder and folder.is_dir():
            last = msgspec.json.encode(LastRead(version, at_ms)) + b"\n"
            write_durably(folder, LAST_READ_FILE, last)

    def read_ms(self, backup: Backup) -> int:
        """The last known time at which the registry was as in the backup, in ms since 1970."""
        taken_ms, folder = backup.header.taken_ms, self._local_folder
        with suppress(OSError, msgspec.MsgspecError):  # without it the backup is as old as it says
            if folder:
                last = msgspec.json.decode(read_regular(folder / LAST_READ_FILE), type=LastRead)
                if last.stamp == backup.header.stamp:
                    return max(taken_ms, last.at_ms)
        return taken_ms

    @property
    def _local_folder(self) -> Path | None:
        folder = (self.copy or self).folder
        return folder if isinstance(folder, Path) else None

    def paths(self) -> list[BackupFile]:
        """All files, newest first."""
        files = (path for path in list_files(self.folder) if _NAME.fullmatch(path.name))
        return sorted(files, key=lambda path: path.name, reverse=True)


def encode_backup(contents: Contents, now_ms: int) -> tuple[str, bytes]:
    """Name and content of a backup's file."""
    body = msgspec.json.encode(contents.without_personal_data())
    sha256 = hashlib.sha256(body).hexdigest()
    head = BackupHeader(1, now_ms, contents.stamp, len(contents.organizations), sha256)
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    name = f"r{contents.stamp.revision:012}-{at:%Y%m%dT%H%M%SZ}.json"
    return name, msgspec.json.encode(head) + b"\n" + body + b"\n"


def read_backup(path: BackupFile) -> Backup:
    """Read and verify a backup; BackupDamaged, or OSError."""
    content = read_regular(path) if isinstance(path, Path) else path.read_bytes()
    head, _, body = content.partition(b"\n")
    header, body = _parse_header(path, head), body.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest() != header.sha256:
        raise BackupDamaged(f"{path} has a wrong checksum")
    try:
        return Backup(path, header, msgspec.json.decode(body, type=Contents))
    except msgspec.MsgspecError as error:
        raise BackupDamaged(f"{path} has an unsupported format: {error}") from None


def write_backup(store: RegistryStore, backups: Backups, now_ms: int) -> BackupFile | None:
    """Write a backup, unless the newest has the same revision.

    An empty registry that replaced another by accident is not backed up over its predecessor.
    """
    stamp, newest = store.read_version(), backups.newest_header()
    if not stamp.revision or (newest is not None and newest.stamp == stamp):
        return None
    contents = store.read_contents()
    recreated = newest is not None and newest.stamp.incarnation != stamp.incarnation
    if newest and recreated and newest.organizations and not contents.organizations:
        return None
    return backups.write(contents, now_ms)


def _parse_header(path: BackupFile, line: bytes) -> BackupHeader:
    try:
        return msgspec.json.decode(line, type=BackupHeader)
    except msgspec.MsgspecError:
        raise BackupDamaged(f"{path} has no valid header") from None


def _expired(newest_first: Iterable[BackupFile]) -> Iterator[BackupFile]:
    """Files to delete: all but the newest, and the last of each of the last days."""
    days: list[str] = []
    for index, path in enumerate(newest_first):
        day = path.name.split("-")[1][:8]
        first = day not in days
        days += [day] if first else []
        if index >= KEPT_NEWEST and not (first and len(days) <= KEPT_DAYS):
            yield path
