"""`tidemark erase` and `tidemark erasures`: erase visitors, and show what was erased."""

import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from deploy.cli.context import CliContext, as_json, print_record, print_rows, record_fields
from deploy.cli.progress_bar import ProgressBar
from deploy.local.processes.process_file import read_processes_file
from schemas.registry import (
    Erasure,
    ErasureState,
    Link,
    Organization,
    RegistryStore,
    Selector,
    Website,
)
from schemas.registry.validation import new_erasure
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

COLUMNS = ("id", "websiteId", "linkId", "selector", "state", "createdAt")
POLL_INTERVAL_SECONDS = 0.5
UNSHOWN = ("valueHashes", "erasedValues")


@click.command()
@click.option("--website", metavar="ID", help="Website whose rows are erased.")
@click.option("--link", metavar="ID", help="Link whose clicks are erased.")
@click.option("--organization", metavar="ID", help="Organization: all its websites and links.")
@click.option("--visitor", "visitors", multiple=True, metavar="ID", help="Anonymous id.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="ID",
    help="Profile id, with the visitors that were identified with it last.",
)
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Session id.")
@click.option(
    "--property",
    "property_",
    metavar="NAME=VALUE",
    help="Value of a property of events, or of a trait of profiles.",
)
@click.option("--dry-run", is_flag=True, help="Count the rows by table and erase nothing.")
@click.option("--yes", is_flag=True, help="Skip the confirmation (never asked without a terminal).")
@as_json
@click.pass_obj
def erase(
    tidemark: CliContext,
    website: str | None,
    link: str | None,
    organization: str | None,
    visitors: Sequence[str],
    profiles: Sequence[str],
    sessions: Sequence[str],
    property_: str | None,
    dry_run: bool,
    yes: bool,
    json: bool,
) -> None:
    """Erase a visitor, profile, session or property value, for good.

    Queries hide the rows at once. The command waits until no table has them, and prints the report.
    What is sent again later is dropped. Ids may be given several times.
    """
    selector, name, values = _selected(visitors, profiles, sessions, property_)
    with tidemark.open_registry() as store:
        owner = _owner(store, website, link, organization)
        if not dry_run and not yes and sys.stdin.isatty():
            what = f"{len(values)} {selector.value} value(s)"
            click.confirm(f"Erase all rows of {what}, for good?", abort=True)
        record = new_erasure(
            owner.pop("organization_id"),
            selector,
            values,
            now_ms(),
            store.tombstone_key(),
            property_name=name,
            dry_run=dry_run,
            **owner,
        )
        store.create(record)
        record = _wait_until_rewritten(tidemark.settings, store, record.id)
    print_record(_fields(record), json)


@click.group("erasures")
def erasures() -> None:
    """Show erasures and their reports.

    `tidemark erase` makes them.
    """


@erasures.command("list")
@click.option("--website", metavar="ID", help="Only erasures of this website.")
@as_json
@click.pass_obj
def list_erasures(tidemark: CliContext, website: str | None, json: bool) -> None:
    """List erasures, oldest first."""
    with tidemark.open_registry() as store:
        records = store.list(Erasure, website_id=website)
    print_rows([_fields(record) for record in records], COLUMNS, json)


@erasures.command("show")
@click.argument("record_id", metavar="ID")
@as_json
@click.pass_obj
def show_erasure(tidemark: CliContext, record_id: str, json: bool) -> None:
    """Show one erasure with its report."""
    with tidemark.open_registry() as store:
        record = store.get(Erasure, record_id)
    print_record(_fields(record), json)


def _selected(
    visitors: Sequence[str],
    profiles: Sequence[str],
    sessions: Sequence[str],
    property_: str | None,
) -> tuple[Selector, str, Sequence[str]]:
    """What the values identify, the name of the property, and the values."""
    name, sign, value = (property_ or "").partition("=")
    if property_ is not None and not sign:
        raise click.UsageError(f"--property {property_}: write NAME=VALUE")
    given = {
        Selector.VISITOR: visitors,
        Selector.PROFILE: profiles,
        Selector.SESSION: sessions,
        Selector.PROPERTY: (value,) if sign else (),
    }
    selected = [(selector, values) for selector, values in given.items() if values]
    if len(selected) != 1:
        raise click.UsageError("give one of --visitor, --profile, --session and --property")
    [(selector, values)] = selected
    return selector, name, values


def _owner(
    store: RegistryStore, website: str | None, link: str | None, organization: str | None
) -> dict[str, Any]:
    """The organization, and the website or link, if one is named."""
    if sum(value is not None for value in (website, link, organization)) != 1:
        raise click.UsageError("give one of --website, --link and --organization")
    if website is not None:
        found = store.get(Website, website)
        return {"organization_id": found.organization_id, "website_id": found.id}
    if link is not None:
        of_link = store.get(Link, link)
        return {"organization_id": of_link.organization_id, "link_id": of_link.id}
    return {"organization_id": store.get(Organization, str(organization)).id}


def _wait_until_rewritten(settings: Settings, store: RegistryStore, record_id: str) -> Erasure:
    """The erasure once no table has its rows; its current state when no keeper runs."""
    bar = ProgressBar()
    waiting = (ErasureState.PENDING, ErasureState.COUNTING)
    while (record := store.get(Erasure, record_id)).state in waiting:
        if read_processes_file(settings.data) is None:
            bar.end("Tidemark is not running; the keeper goes on after the next start")
            return record
        is_dry_run = record.state.is_dry_run
        bar.show("counting rows" if is_dry_run else "removing rows; queries hide them already")
        time.sleep(POLL_INTERVAL_SECONDS)
    bar.end()
    return record


def _fields(record: Erasure) -> dict[str, Any]:
    """An erasure without its values."""
    fields = {name: v for name, v in record_fields(record).items() if name not in UNSHOWN}
    report = {name: v for name, v in fields.pop("report").items() if name != "rewrittenMs"}
    return {**fields, **report}
