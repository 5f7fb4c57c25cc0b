"""Backups of the registry beside the lake: checksummed, one file per revision, pruned.

The first line is a header with the SHA-256 of the second; the second has all records as JSON, with
their ids and the hashes of API keys. Files are written atomically and readable by their owner only.
Pruning keeps the newest files and the last one of each of the last days.
"""

import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

import msgspec
from msgspec import Struct

from schemas.registry import database
from schemas.registry.contents import Contents, RegistryVersion
from schemas.registry.store import RegistryStore
from schemas.runtime.files import fsync
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

BACKUP_FOLDER = "_registry"
"""Folder in the lake; table readers ignore names that begin with an underscore."""
COPY_FOLDER = "registry-copy"
"""Folder of the copies in the data folder."""
KEPT_NEWEST = 5
KEPT_DAYS = 7

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


class Backup(Struct, frozen=True):
    """One backup with a verified checksum."""

    path: Path
    header: BackupHeader
    contents: Contents


class Backups:
    """The backups in one folder."""

    def __init__(self, folder: Path, copy_folder: Path | None = None) -> None:
        self.folder = folder
        self.copy = Backups(copy_folder) if copy_folder else None
        """Copies that each machine keeps for itself, of a registry on a database server."""

    @classmethod
    def for_settings(cls, settings: Settings) -> Self:
        """Backups beside a local lake, or in the data folder when the lake is remote."""
        is_server = database.sqlite_path(settings.registry_url) is None
        copy_folder = settings.data / COPY_FOLDER if is_server else None
        if "://" in settings.lake_url.removeprefix("file://"):
            return cls(settings.data / BACKUP_FOLDER, copy_folder)
        lake = Path(settings.lake_url.removeprefix("file://"))
        return cls(lake / BACKUP_FOLDER, copy_folder)

    def newest(self) -> Backup | None:
        """The newest undamaged backup, or copy if that is newer."""
        own, copy = self._newest(), self.copy.newest() if self.copy else None
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

    def newest_header(self) -> BackupHeader | None:
        """Header of the newest file, without reading the records."""
        for path in self.paths():
            with suppress(OSError, BackupDamaged), path.open("rb") as file:
                return _parse_header(path, file.readline())
        return None

    def last_revision(self) -> int:
        """The highest revision of all files."""
        return max((int(path.name[1:13]) for path in self.paths()), default=0)

    def write(self, contents: Contents, now_ms: int) -> Path:
        """Write a backup durably and delete expired ones."""
        body = msgspec.json.encode(contents)
        sha256 = hashlib.sha256(body).hexdigest()
        head = BackupHeader(1, now_ms, contents.stamp, len(contents.organizations), sha256)
        at = datetime.fromtimestamp(now_ms / 1000, UTC)
        path = self.folder / f"r{contents.stamp.revision:012}-{at:%Y%m%dT%H%M%SZ}.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        _write_durably(path, msgspec.json.encode(head) + b"\n" + body + b"\n")
        for old in _expired(self.paths()):
            old.unlink(missing_ok=True)
        return path

    def paths(self) -> list[Path]:
        """All files, newest first."""
        files = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted((path for path in files if _NAME.fullmatch(path.name)), reverse=True)


def read_backup(path: Path) -> Backup:
    """Read and verify a backup; BackupDamaged, or OSError."""
    head, _, body = path.read_bytes().partition(b"\n")
    header, body = _parse_header(path, head), body.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest() != header.sha256:
        raise BackupDamaged(f"{path} has a wrong checksum")
    try:
        return Backup(path, header, msgspec.json.decode(body, type=Contents))
    except msgspec.MsgspecError as error:
        raise BackupDamaged(f"{path} has an unsupported format: {error}") from None


def write_backup(store: RegistryStore, backups: Backups, now_ms: int) -> Path | None:
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


def _parse_header(path: Path, line: bytes) -> BackupHeader:
    try:
        return msgspec.json.decode(line, type=BackupHeader)
    except msgspec.MsgspecError:
        raise BackupDamaged(f"{path} has no valid header") from None


def _expired(newest_first: Iterable[Path]) -> Iterator[Path]:
    """Files to delete: all but the newest, and the last of each of the last days."""
    days: list[str] = []
    for index, path in enumerate(newest_first):
        day = path.name.split("-")[1][:8]
        first = day not in days
        days += [day] if first else []
        if index >= KEPT_NEWEST and not (first and len(days) <= KEPT_DAYS):
            yield path


def _write_durably(path: Path, data: bytes) -> None:
    """Write a file atomically and durably, readable by its owner only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
    fsync(path.parent)
