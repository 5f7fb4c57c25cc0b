"""`tidemark registry`: how it is, its backups, and the ways back when it is lost."""

import sys
from pathlib import Path

import click

from deploy.cli.context import Tidemark, as_json, print_record
from deploy.demo.registry_records import DEMO
from deploy.local.registry_startup import bring_back, lost, ready_registry, reason
from deploy.local.unavailable import RegistryAway
from schemas.registry import Backups, DatabaseError, Organization, Store
from schemas.registry.backups import Backup, BackupDamaged, back_up, read
from schemas.registry.database import file_of
from schemas.registry.restore import fault_of, put_aside
from schemas.runtime.clock import iso, now_ms
from schemas.runtime.settings import Settings


@click.group()
def registry() -> None:
    """The registry as a whole: organizations, websites, links, keys and imports."""


@registry.command()
@as_json
@click.pass_obj
def backup(tidemark: Tidemark, json: bool) -> None:
    """Write a backup now. The keeper does so by itself within seconds of each change."""
    backups = Backups.of(tidemark.settings)
    with tidemark.store() as store:
        back_up(store, backups, now_ms())
    newest = backups.newest()
    if newest is None:
        raise click.ClickException("there is nothing to keep yet: no organization was ever made")
    print_record(_shown(newest), json)


@registry.command()
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A backup; the newest that is whole when not given.",
)
@click.option("--replace", is_flag=True, help="Even if the registry is there and can be read.")
@as_json
@click.pass_obj
def restore(tidemark: Tidemark, source: Path | None, replace: bool, json: bool) -> None:
    """Bring the registry back as a backup has it: the same ids, and the same keys work.

    What is there is kept under another name. Services that run notice by themselves. A backup has
    no audit trail: it begins anew, and the one before is in the file that is kept, if there is one.
    """
    settings, backups = tidemark.settings, Backups.of(tidemark.settings)
    found = _read(source) if source else backups.newest()
    if found is None:
        raise click.ClickException(f"there is no backup in {backups.folder}")
    try:
        if not (replace or fault_of(settings.registry_url) or lost(settings, backups)):
            raise click.UsageError("the registry is there and readable; give --replace as well")
        kept = bring_back(settings, backups, found)
    except (DatabaseError, OSError, ImportError) as away:
        raise click.ClickException(f"the registry was not restored: {reason(away)}") from None
    aside = {"aside": str(kept)} if kept else {}
    print_record({**_shown(found), **aside}, json)


@registry.command()
@click.option("--yes", is_flag=True, help="Do not ask; nobody is asked without a terminal.")
@as_json
@click.pass_obj
def new(tidemark: Tidemark, yes: bool, json: bool) -> None:
    """Begin with a new, empty registry: all ids and keys so far are unknown to it.

    The old one, its backups and demo.json are kept under other names.
    """
    settings, at = tidemark.settings, now_ms()
    path = file_of(settings.registry_url)
    if not yes and sys.stdin.isatty():
        click.confirm("Begin anew? Everything sent so far will be out of reach", abort=True)
    if path is None:
        _refuse_in_use(settings)
    olds = (Backups.of(settings).folder, settings.data / DEMO, *((path,) if path else ()))
    kept = [aside for old in olds if (aside := put_aside(old, at)) is not None]
    try:
        ready_registry(settings, anew=True)
    except RegistryAway as away:
        raise click.ClickException(str(away)) from None
    print_record({"new": True, "aside": [str(one) for one in kept]}, json)


def _refuse_in_use(settings: Settings) -> None:
    """A database server's tables have no other name to be kept under."""
    try:
        if fault_of(settings.registry_url) is not None:
            return
        store = Store(settings.registry_url)
        used = store.count(Organization)
        store.close()
    except (DatabaseError, ImportError) as away:
        raise click.ClickException(f"the registry cannot be opened: {reason(away)}") from None
    if used:
        raise click.ClickException("the database is in use: make another and name it by its URL")


def _read(source: Path) -> Backup:
    try:
        return read(source)
    except (BackupDamaged, OSError) as refused:
        raise click.UsageError(f"--from: {refused}") from None


def _shown(found: Backup) -> dict[str, object]:
    head = found.head
    return {
        "file": str(found.path),
        "takenAt": iso(head.taken_ms),
        "revision": head.stamp.revision,
        "organizations": head.organizations,
        "websites": len(found.contents.websites),
        "links": len(found.contents.links),
        "keys": len(found.contents.keys),
    }
