"""The registry is brought to this version's form before it is read, and never silently made anew.

Ids are random: a new registry beside an old lake would refuse everything that is sent, and reach
nothing that is stored.
"""

import getpass
import os
import sys
from pathlib import Path

from deploy.demo.registry_records import DEMO_FILE
from deploy.local.preflight import RegistryUnavailable
from schemas.registry import Backups, DatabaseError, first_line
from schemas.registry.backups import Backup
from schemas.registry.database import sqlite_path
from schemas.registry.migrate import migrate
from schemas.registry.restore import is_empty, readable_revision, registry_fault, restore
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings

NEW_REGISTRY_HINT = "`tidemark registry new` begins anew, with new ids and keys"


def prepare_registry(settings: Settings, restores: bool = False, anew: bool = False) -> str:
    """The registry's URL, when its tables are as this version needs them; RegistryAway.

    One that is lost is brought back from its backup if `restores`, in the place that is ours alone:
    a URL that was given may simply be the wrong one. Nor does it go back behind what a damaged one
    still tells: keys that were revoked since would work again. `anew` makes one in any case.
    """
    url, backups = settings.registry_url, Backups.for_settings(settings)
    try:
        fault = None if anew else registry_loss(settings, backups)
        newest = backups.newest() if fault else None
        behind = newest and readable_revision(url) > newest.header.stamp.revision if fault else None
        if fault and newest and restores and not settings.registry and not behind:
            kept = restore_backup(settings, backups, newest)
            _warn(f"{fault}; it was restored, {describe_backup(newest)}{_moved_file_note(kept)}")
        elif fault:
            older = " Its newest backup is older than what can still be read." if behind else ""
            raise RegistryUnavailable(f"the registry is lost: {fault}.{older} {_remedy(newest)}")
        else:
            migrate(url)
    except (DatabaseError, OSError, ImportError) as away:
        raise RegistryUnavailable(f"the registry cannot be opened: {error_reason(away)}") from None
    return url


def registry_loss(settings: Settings, backups: Backups) -> str | None:
    """What is wrong with the registry of an installation that had one; None at a first start."""
    fault = registry_fault(settings.registry_url)
    if fault is not None:
        return (
            fault if has_registry_file(settings) or has_registry_traces(settings, backups) else None
        )
    head = backups.newest_header()
    if head is not None and head.organizations and is_empty(settings.registry_url):
        return "nothing was ever written to it, unlike its backups"
    return None


def registry_problem(settings: Settings) -> str | None:
    """What is wrong with the registry, for who looks at everything; None when it can be read."""
    try:
        fault = registry_loss(settings, Backups.for_settings(settings))
    except (DatabaseError, OSError, ImportError) as away:
        return f"the registry cannot be read: {error_reason(away)}"
    return f"the registry is lost: {fault}; see `tidemark registry restore`" if fault else None


def has_registry_traces(settings: Settings, backups: Backups) -> bool:
    """Whether something is left here that only a registry with its ids gives meaning to."""
    lake = Path(settings.lake_url.removeprefix("file://"))
    return (
        backups.newest_header() is not None
        or (settings.data / DEMO_FILE).exists()
        or any(lake.glob("*/_delta_log"))
    )


def has_registry_file(settings: Settings) -> bool:
    """Whether there is a file with something in it, which must not be taken for a first start."""
    path = sqlite_path(settings.registry_url)
    return path is not None and path.exists() and path.stat().st_size > 0


def restore_backup(settings: Settings, backups: Backups, backup: Backup) -> Path | None:
    """Restore; answers where the file is kept that was there."""
    revision = max(backups.last_revision(), backup.header.stamp.revision) + 1
    return restore(settings.registry_url, backup.contents, revision, now_ms(), cli_actor())


def describe_backup(backup: Backup) -> str:
    """A backup in a few words."""
    head = backup.header
    return f"as it was at {format_instant(head.taken_ms)} (revision {head.stamp.revision})"


def cli_actor() -> str:
    """Who works at the command line, as the registry's trail names them."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        name = str(os.getuid())
    return f"cli:{name}"[:64]


def error_reason(away: BaseException) -> str:
    """The first line says it; the others are the database driver's advice."""
    if isinstance(away, DatabaseError):
        return first_line(away)
    return str(away).splitlines()[0] if str(away) else type(away).__name__


def _remedy(newest: Backup | None) -> str:
    if newest is None:
        return (
            "There is no backup of it: put a copy of your own back. "
            f"{NEW_REGISTRY_HINT} (and `--id` of `organizations` and `websites create` takes old "
            f"ids)."
        )
    return (
        f"`tidemark registry restore` brings it back {describe_backup(newest)}; "
        f"{NEW_REGISTRY_HINT}."
    )


def _moved_file_note(path: Path | None) -> str:
    return f"; what was there is kept as {path.name}" if path else ""


def _warn(sentence: str) -> None:
    sys.stderr.write(f"tidemark: the registry was lost: {sentence}\n")
    sys.stderr.flush()
