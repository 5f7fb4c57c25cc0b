"""Migrates the registry at start, restores a lost one, never silently creates a second one.

Ids are random: with a new registry beside an old lake, all requests would be rejected and all
stored data unreachable.
"""

import getpass
import os
import sys
from pathlib import Path

from deploy.demo.demo_file import DEMO_FILE
from deploy.local.preflight import RegistryUnavailable
from deploy.local.store_problem import explain
from schemas.lake.object_store import StoreUnreachable
from schemas.registry import Backups, DatabaseError, first_line
from schemas.registry.backups import Backup
from schemas.registry.database import sqlite_path
from schemas.registry.migrate import migrate
from schemas.registry.restore import is_empty, readable_revision, registry_fault, restore
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings

NEW_REGISTRY_HINT = "`tidemark registry new` creates an empty one, with new ids and keys"


def prepare_registry(settings: Settings, restores: bool = False, create_new: bool = False) -> str:
    """Migrate the registry and return its URL; RegistryUnavailable when it is lost.

    With `restores` a lost registry is restored from its backup, but only at the default location: a
    configured URL may simply be wrong. It is not restored to a revision older than the damaged
    registry still shows: revoked keys would work again. `create_new` creates a new one in any case.
    """
    try:
        url, backups = settings.registry_url, Backups.for_settings(settings)
        fault = None if create_new else registry_loss(settings, backups)
        newest = backups.newest() if fault else None
        behind = newest and readable_revision(url) > newest.header.stamp.revision if fault else None
        if fault and newest and restores and not settings.registry and not behind:
            old_file = restore_backup(settings, backups, newest)
            _warn(
                f"{fault}; it was restored, {describe_backup(newest)}{_moved_file_note(old_file)}"
            )
        elif fault:
            older = " Its newest backup is older than the damaged registry." if behind else ""
            raise RegistryUnavailable(f"the registry is lost: {fault}.{older} {_remedy(newest)}")
        else:
            migrate(url)
    except StoreUnreachable as error:
        problem, remedy = explain(error)
        raise RegistryUnavailable(
            f"the object store of {settings.lake_url} cannot be read, and it may have a backup of "
            f"the registry, which is empty or lost: {problem}; {remedy}"
        ) from None
    except (DatabaseError, OSError, ImportError) as error:
        raise RegistryUnavailable(f"the registry cannot be opened: {error_reason(error)}") from None
    return url


def registry_loss(settings: Settings, backups: Backups) -> str | None:
    """Why the registry of an existing installation is lost; None when it is not lost."""
    fault = registry_fault(settings.registry_url)
    if fault is not None:
        return (
            fault if has_registry_file(settings) or has_registry_traces(settings, backups) else None
        )
    if not is_empty(settings.registry_url):
        return None
    head = backups.newest_header()
    if head is not None and head.organizations:
        return "it is empty, but its backups are not"
    return None


def registry_problem(settings: Settings) -> str | None:
    """The registry's problem as one sentence, for status; None when it can be read."""
    try:
        fault = registry_loss(settings, Backups.for_settings(settings))
    except (DatabaseError, OSError, ImportError) as error:
        return f"the registry cannot be read: {error_reason(error)}"
    return f"the registry is lost: {fault}; run `tidemark registry restore`" if fault else None


def has_registry_traces(settings: Settings, backups: Backups) -> bool:
    """Whether there is a backup, a demo or a table, which all refer to ids of a registry."""
    lake = Path(settings.lake_url.removeprefix("file://"))
    return (
        backups.any_header() is not None
        or (settings.data / DEMO_FILE).exists()
        or any(lake.glob("*/_delta_log"))
    )


def has_registry_file(settings: Settings) -> bool:
    """Whether there is a non-empty registry file, so that this is not a first start."""
    path = sqlite_path(settings.registry_url)
    return path is not None and path.exists() and path.stat().st_size > 0


def restore_backup(settings: Settings, backups: Backups, backup: Backup) -> Path | None:
    """Restore a backup; return the path that the old registry file was moved to."""
    revision = max(backups.last_revision(), backup.header.stamp.revision) + 1
    return restore(settings.registry_url, backup.contents, revision, now_ms(), cli_actor())


def describe_backup(backup: Backup) -> str:
    """Time and revision of a backup, as text."""
    head = backup.header
    return f"as it was at {format_instant(head.taken_ms)} (revision {head.stamp.revision})"


def cli_actor() -> str:
    """The user of the command line, as named in the audit trail."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # in a container the user may have no name
        name = str(os.getuid())
    return f"cli:{name}"[:64]


def error_reason(error: BaseException) -> str:
    """The first line of an error; the rest is advice of the database driver."""
    if isinstance(error, DatabaseError):
        return first_line(error)
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _remedy(newest: Backup | None) -> str:
    if newest is None:
        return (
            "There is no backup: restore your own copy of the file. "
            f"{NEW_REGISTRY_HINT} (and `--id` of `organizations` and `websites create` takes old "
            f"ids)."
        )
    return (
        f"`tidemark registry restore` restores it {describe_backup(newest)}; {NEW_REGISTRY_HINT}."
    )


def _moved_file_note(path: Path | None) -> str:
    return f"; the old file is kept as {path.name}" if path else ""


def _warn(sentence: str) -> None:
    sys.stderr.write(f"tidemark: the registry was lost: {sentence}\n")
    sys.stderr.flush()
