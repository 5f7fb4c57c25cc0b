"""Manifest: the files of one backup with their checksums; written last, by rename or one request.

A backup without a manifest does not exist. All backups of a target share their data files, which
never change and whose names are not used again. Log entries and the registry are stored by content:
two lakes have other entries under the same name.

| path in the target       | content                                         |
|--------------------------|-------------------------------------------------|
| `backups/<id>.json`      | manifest                                        |
| `files/<table>/day=…/…`  | data file, as it is named in the lake           |
| `files/by-content/<sum>` | log entry, checkpoint, state of the registry    |
| `erasures/<id>.json`     | erasure of any time (`backed_up_erasures.py`)   |
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec import Struct, structs

from schemas.runtime.clock import parse_instant_ms
from stream.backup.file_store import FileStore

MANIFESTS = "backups"
FILES = "files"
BY_CONTENT = f"{FILES}/by-content"
LOG_PART = "/_delta_log/"


class ManifestDamaged(Exception):
    """The manifest is not complete, or of an unsupported version."""


class StoredFile(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One file of a backup."""

    path: str
    """Path in the lake."""
    size: int
    sha256: str
    problem: str = ""
    """What was wrong with it when it was copied, as the end of a sentence."""

    @property
    def stored_path(self) -> str:
        """Path in the target."""
        is_data_file = self.path.endswith(".parquet") and LOG_PART not in self.path
        return f"{FILES}/{self.path}" if is_data_file else f"{BY_CONTENT}/{self.sha256}"


class BackupTable(Struct, frozen=True, rename="camel"):
    """One table at one version."""

    name: str
    version: int
    rows: int
    received_until_ms: int | None
    """When the newest row was received."""
    numbers: Mapping[str, int]
    """Next offsets and other numbers of the table, by application id."""
    log: Sequence[StoredFile]
    """A checkpoint and the entries up to the version."""
    data_files: Sequence[StoredFile]


class Manifest(Struct, frozen=True, rename="camel"):
    """One backup."""

    format: Literal[1]
    id: str
    """Time at which its tables were pinned, which is also its name: 20261129T120000Z."""
    taken_ms: int
    tidemark: str
    """Version that wrote it."""
    tables: Sequence[BackupTable]
    registry: StoredFile | None
    """Records with hashes of keys, and the secret that signs receipts."""
    settings: Mapping[str, str]
    """Settings that are not the default ones, without secrets."""
    sha256: str = ""
    """Checksum of the manifest with an empty one."""

    def files(self) -> Iterator[StoredFile]:
        """All files that the target has of it."""
        for table in self.tables:
            yield from table.log
            yield from (file for file in table.data_files if file.sha256)
        if self.registry:
            yield self.registry

    @property
    def problems(self) -> Sequence[StoredFile]:
        """Data files that were damaged or missing in the lake."""
        return [file for table in self.tables for file in table.data_files if file.problem]


def backup_id(taken_ms: int) -> str:
    """The id of a backup of this time, to the second."""
    return f"{datetime.fromtimestamp(taken_ms / 1000, UTC):%Y%m%dT%H%M%SZ}"


def write_manifest(target: FileStore, manifest: Manifest) -> None:
    """Write the manifest with its checksum, at once or not at all."""
    signed = structs.replace(manifest, sha256=_checksum(manifest))
    target.put(_manifest_path(manifest.id), [msgspec.json.encode(signed)])


def read_manifest(target: FileStore, identifier: str) -> Manifest:
    """Read and verify a manifest; ManifestDamaged, or OSError."""
    content = b"".join(target.blocks(_manifest_path(identifier)))
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise ManifestDamaged(f"{_manifest_path(identifier)} is unreadable: {error}") from None
    if _checksum(structs.replace(manifest, sha256="")) != manifest.sha256:
        raise ManifestDamaged(f"{_manifest_path(identifier)} has a wrong checksum")
    return manifest


def backup_ids(target: FileStore) -> list[str]:
    """Ids of all backups, newest first."""
    names = (path.removeprefix(f"{MANIFESTS}/") for path in target.entries(MANIFESTS))
    return sorted(
        (name.removesuffix(".json") for name in names if name[0] != "." and name[-5:] == ".json"),
        reverse=True,
    )


def select_backup(target: FileStore, time: str | None) -> str | None:
    """The backup with this id, or the last one until an ISO 8601 time; the newest without one.

    ValueError when it is neither.
    """
    identifiers = backup_ids(target)
    if time is None or time in identifiers:
        return time or next(iter(identifiers), None)
    until = backup_id(parse_instant_ms(time))
    return next((identifier for identifier in identifiers if identifier <= until), None)


def newest_manifest(target: FileStore) -> Manifest | None:
    """The newest backup whose manifest is intact; None when there is none."""
    for identifier in backup_ids(target):
        try:
            return read_manifest(target, identifier)
        except ManifestDamaged:
            continue
    return None


def remove_manifest(target: FileStore, identifier: str) -> None:
    """Remove a backup; its files stay."""
    target.remove(_manifest_path(identifier))


def _manifest_path(identifier: str) -> str:
    return f"{MANIFESTS}/{identifier}.json"


def _checksum(manifest: Manifest) -> str:
    return hashlib.sha256(msgspec.json.encode(manifest)).hexdigest()
