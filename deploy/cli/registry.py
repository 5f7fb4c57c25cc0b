"""`tidemark registry`: back up, restore and replace the registry."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from deploy.cli.context import CliContext, as_json, print_record
from deploy.demo.demo_file import DEMO_FILE
from deploy.local.preflight import RegistryUnavailable
from deploy.local.registry_startup import (
    error_reason,
    prepare_registry,
    registry_loss,
    restore_backup,
)
from schemas.registry import Backups, DatabaseError, Organization, RegistryStore
from schemas.registry.backup_files import BackupFolder, backup_file, rename_bucket_folder
from schemas.registry.backups import (
    BACKUP_FOLDER,
    Backup,
    BackupDamaged,
    read_backup,
    write_backup,
)
from schemas.registry.database import sqlite_path
from schemas.registry.restore import aside_name, move_aside, registry_fault
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings


@click.group()
def registry() -> None:
    """Back up, restore or replace the registry: organizations, websites and what they own."""


@registry.command()
@as_json
@click.pass_obj
def backup(tidemark: CliContext, json: bool) -> None:
    """Write a backup now; the keeper writes one within seconds of each change."""
    backups = Backups.for_settings(tidemark.settings)
    with tidemark.open_registry() as store:
        write_backup(store, backups, now_ms())
    newest = backups.newest()
    if newest is None:
        raise click.ClickException("there is nothing to back up: no organization was ever created")
    print_record(_backup_fields(newest), json)


@registry.command()
@click.option(
    "--from",
    "source",
    metavar="FILE",
    help="Backup, as a file or as the URL of an object. Default: the newest intact one.",
)
@click.option("--replace", is_flag=True, help="Replace a registry that is present and readable.")
@as_json
@click.pass_obj
def restore(tidemark: CliContext, source: str | None, replace: bool, json: bool) -> None:
    """Restore the registry from a backup: ids stay the same and keys keep working.

    The present file is renamed, not deleted. Running services notice the change. A backup contains
    no audit trail: a new one starts, and the old one stays in the renamed file.
    """
    settings, backups = tidemark.settings, Backups.for_settings(tidemark.settings)
    try:
        selected = _read_backup_option(source) if source else backups.newest()
        if selected is None:
            raise click.ClickException(
                f"there is no backup in {backups.folder}; name one with --from"
            )
        if not (
            replace or registry_fault(settings.registry_url) or registry_loss(settings, backups)
        ):
            raise click.UsageError(
                "the registry is present and readable; add --replace to replace it"
            )
        moved = restore_backup(settings, backups, selected)
    except (DatabaseError, OSError, ImportError) as error:
        raise click.ClickException(
            f"the registry was not restored: {error_reason(error)}"
        ) from None
    moved_path = {"aside": str(moved)} if moved else {}
    print_record({**_backup_fields(selected), **moved_path}, json)


@registry.command()
@click.option("--yes", is_flag=True, help="Skip the confirmation (never asked without a terminal).")
@as_json
@click.pass_obj
def new(tidemark: CliContext, yes: bool, json: bool) -> None:
    """Start with a new, empty registry: existing ids and API keys become invalid.

    The old registry, its backups and demo.json are renamed, not deleted.
    """
    settings, at = tidemark.settings, now_ms()
    path = sqlite_path(settings.registry_url)
    if not yes and sys.stdin.isatty():
        click.confirm("Create an empty registry? All stored data becomes unreachable", abort=True)
    if path is None:
        _require_unused(settings)
    olds = (settings.data / DEMO_FILE, *((path,) if path else ()))
    try:
        moved = [*_move_backups_aside(Backups.for_settings(settings), at)]
        moved += [moved_path for old in olds if (moved_path := move_aside(old, at)) is not None]
        prepare_registry(settings, create_new=True)
    except (RegistryUnavailable, OSError) as error:
        raise click.ClickException(str(error)) from None
    print_record({"new": True, "aside": [str(path_kept) for path_kept in moved]}, json)


def _move_backups_aside(backups: Backups, at_ms: int) -> Iterator[BackupFolder]:
    """Rename the folders of backups and copies; those that exist, under their new names."""
    for folder in (backups.folder, *((backups.copy.folder,) if backups.copy else ())):
        if isinstance(folder, Path):
            moved: BackupFolder | None = move_aside(folder, at_ms)
        else:
            moved = rename_bucket_folder(folder, aside_name(BACKUP_FOLDER, at_ms))
        if moved is not None:
            yield moved


def _require_unused(settings: Settings) -> None:
    """Refuse to replace tables of a database server: they cannot be renamed."""
    try:
        if registry_fault(settings.registry_url) is not None:
            return
        store = RegistryStore(settings.registry_url)
        used = store.count(Organization)
        store.close()
    except (DatabaseError, ImportError) as error:
        raise click.ClickException(
            f"the registry cannot be opened: {error_reason(error)}"
        ) from None
    if used:
        raise click.ClickException(
            "the database is in use; create another one and set TIDEMARK_REGISTRY to its URL"
        )


def _read_backup_option(source: str) -> Backup:
    try:
        return read_backup(backup_file(source))
    except (BackupDamaged, OSError) as error:
        raise click.UsageError(f"--from: {error}") from None


def _backup_fields(selected: Backup) -> dict[str, object]:
    head = selected.header
    return {
        "file": str(selected.path),
        "takenAt": format_instant(head.taken_ms),
        "revision": head.stamp.revision,
        "organizations": head.organizations,
        "websites": len(selected.contents.websites),
        "links": len(selected.contents.links),
        "keys": len(selected.contents.keys),
    }
