"""`tidemark contract`: stored events of a website against the contract of its sender."""

from pathlib import Path
from typing import Any

import click

from deploy.cli.context import CliContext, as_json, print_json, print_rows
from deploy.cli.event_contract import InvalidContract, check_events, read_contract
from deploy.cli.query_options import client_errors, make_client, service_options
from deploy.demo.demo_file import read_demo
from schemas.runtime.clock import format_instant, now_ms

DAY_MS = 86_400_000
COLUMNS = ("events", "event", "property", "problem", "lastAt")


@click.group()
def contract() -> None:
    """Event contracts: files of event names with their properties and types."""


@contract.command("check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--website", metavar="ID", help="Website id. Default: the demo website.")
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
    try:
        rules = read_contract(file)
    except InvalidContract as error:
        raise click.UsageError(f"{file}: {error}") from None
    demo = read_demo(tidemark.settings.data)
    website = website or (demo.website_id if demo else None)
    if not website:
        raise click.UsageError("give --website")
    client = make_client(tidemark, options)
    start = format_instant(now_ms() - days * DAY_MS)
    request = {"website_id": website, "start": start, "columns": "ts,name,properties"}
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
