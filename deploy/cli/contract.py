"""`tidemark contract`: stored events of a website against the contract of its sender."""

from pathlib import Path
from typing import Any

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_json, print_rows
from deploy.cli.event_contract import InvalidContract, check_events, read_contract
from deploy.cli.query_options import client_errors, make_client, service_options
from deploy.demo.demo_file import read_demo
from schemas.event_contract import Contract, Enforcement, WebsiteContract
from schemas.runtime.clock import format_instant, now_ms

DAY_MS = 86_400_000
COLUMNS = ("events", "event", "property", "problem", "lastAt")


contract_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
website_option = click.option(
    "--website", metavar="ID", help="Website id. Default: the demo website."
)


@click.group()
def contract() -> None:
    """Event contracts: files of event names with their properties and types."""


@contract.command("set")
@contract_file
@website_option
@click.option(
    "--enforce",
    type=click.Choice([each.value for each in Enforcement]),
    help="What becomes of an event that differs: `off` accepts it and tells the sender, `refuse` "
    "rejects it. Default: as before; off for a new contract.",
)
@as_json
@click.pass_obj
def set_(
    tidemark: CliContext, file: Path, website: str | None, enforce: str | None, json: bool
) -> None:
    """Give a website the contract of FILE (JSON or TOML), or replace the one that it has.

    Custom events are checked as they are received, within a second: those that differ are named in
    the response to their sender and in `tidemark debug`, and refused with `--enforce refuse`.
    """
    from schemas.registry import Website
    from schemas.registry.website_contracts import contract_value

    rules, website_id = _read(file), _website_id(tidemark, website)
    with tidemark.open_registry() as store:
        before = store.get(Website, website_id).contract
        enforcement = Enforcement(enforce or before.get("enforce", Enforcement.OFF))
        value = contract_value(WebsiteContract(rules, enforcement))
        store.update(Website, website_id, now_ms(), contract=value)
    _print_contract(website_id, value, json)


@contract.command("show")
@website_option
@as_json
@click.pass_obj
def show(tidemark: CliContext, website: str | None, json: bool) -> None:
    """Show the contract of a website."""
    website_id = _website_id(tidemark, website)
    _print_contract(website_id, _stored_contract(tidemark, website_id), json)


@contract.command("remove")
@website_option
@click.pass_obj
def remove(tidemark: CliContext, website: str | None) -> None:
    """Remove the contract of a website: its events are no longer checked."""
    from schemas.registry import Website

    website_id = _website_id(tidemark, website)
    with tidemark.open_registry() as store:
        store.update(Website, website_id, now_ms(), contract={})
    click.echo(f"{website_id} has no contract now")


@contract.command("check")
@contract_file
@website_option
@click.option(
    "--days", type=click.IntRange(1, 90), default=7, show_default=True, help="Events of so long."
)
@service_options
@as_json
@click.pass_obj
def check(
    tidemark: CliContext,
    /,
    file: Path,
    website: str | None,
    days: int,
    json: bool,
    **options: Any,
) -> None:
    """Check the stored events of the last days against FILE (JSON or TOML).

    Exit code 1 when some differ, each difference named and counted; 0 when none does. Events that
    trackers send by themselves (page views, exits, outbound clicks) are checked only if FILE has
    them. Events that FILE has and nobody sent are listed, and are no difference. The key needs
    `read:data`.
    """
    rules, website_id = _read(file), _website_id(tidemark, website)
    client = make_client(tidemark, options)
    start = format_instant(now_ms() - days * DAY_MS)
    request = {"website_id": website_id, "start": start, "columns": "ts,name,properties"}
    with client_errors():
        result = check_events(rules, client.export("events", **request))
    rows = [
        {
            "events": count.events,
            "event": drift.event,
            "property": drift.property,
            "problem": drift.problem,
            "lastAt": count.last_at,
        }
        for drift, count in result.drifts.items()
    ]
    if json:
        print_json({"checked": result.checked, "drifts": rows, "notSent": result.not_sent})
    else:
        if rows:
            print_rows(rows, COLUMNS, json)
        if result.not_sent:
            click.echo(f"not sent: {', '.join(result.not_sent)}")
        click.echo(f"events checked: {result.checked:,}, differences: {len(rows)}")
    if rows:
        raise click.exceptions.Exit(1)


def _read(file: Path) -> Contract:
    try:
        return read_contract(file)
    except InvalidContract as error:
        raise click.UsageError(f"{file}: {error}") from None


def _website_id(tidemark: CliContext, website: str | None) -> str:
    demo = read_demo(tidemark.settings.data)
    website_id = website or (demo.website_id if demo else None)
    if not website_id:
        raise click.UsageError("give --website")
    return website_id


def _stored_contract(tidemark: CliContext, website_id: str) -> dict[str, Any]:
    from schemas.registry import Website

    with tidemark.open_registry() as store:
        stored = store.get(Website, website_id).contract
    if not stored:
        raise click.ClickException(
            f"{website_id} has no contract; `tidemark contract set FILE` gives it one"
        )
    return stored


def _print_contract(website_id: str, stored: dict[str, Any], json: bool) -> None:
    """The contract as the API shows it; without JSON a line for each event."""
    if json:
        return print_json({"websiteId": website_id, **stored})
    events = msgspec.convert(stored["contract"], Contract).events
    rows = [
        {"event": name, "properties": ", ".join(rule.properties)} for name, rule in events.items()
    ]
    print_rows(rows, ("event", "properties"), json)
    click.echo(f"{website_id}: {len(events):,} events, enforce {stored['enforce']}")
    return None
