"""`tidemark quarantine` and `tidemark limits`: what was not stored, and how much may still come."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_rows
from deploy.cli.query_options import client_errors, make_client, service_options
from deploy.demo.demo_file import read_demo
from schemas.registry import Snapshot

if TYPE_CHECKING:
    from stream.recovery.quarantine_replay import ReplayPlan

REASON_COLUMNS = (
    *("items", "replayed", "stage", "table", "firstAt", "lastAt", "reason", "remedy", "sample"),
)
ALL_COLUMNS = (
    *("items", "stage", "topic", "website", "firstAt", "lastAt", "reason", "remedy", "position"),
)
LIMIT_COLUMNS = ("group", "websiteId", "requests", "items", "bytes", "resetsIn")
COUNTED = ("requests", "items", "bytes")
OUTCOME_COLUMNS = ("items", "outcome", "stage", "reason", "position")
ITEM_COLUMNS = ("position", "outcome", "item")
CONDITION = re.compile(r"\s*reason\s+contains\s+(.+?)\s*")
NO_POSITION = "a position is TOPIC/PARTITION/OFFSET/SEQ"
SHOWN_ITEMS = 20


@click.group(invoke_without_command=True)
@click.option(
    "--website", metavar="ID", help="Website id. Default: that of the key, or the demo website."
)
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True)
@click.option(
    "--all",
    "all_websites",
    is_flag=True,
    help="Of all websites and of none, read from the tables; on a machine of the installation.",
)
@click.option(
    "--payload",
    metavar="POSITION",
    help="Write the bytes of an entry; --all has its position.",
)
@service_options
@as_json
@click.pass_context
def quarantine(
    context: click.Context,
    /,
    website: str | None,
    days: int,
    all_websites: bool,
    payload: str | None,
    json: bool,
    **options: Any,
) -> None:
    """List why items of a website were not stored, the most frequent reason first.

    Messages that could not be decoded name no website: --all lists them too, and --payload has
    their bytes (at most 64 KiB). `quarantine replay` sends items again.
    """
    if context.invoked_subcommand:
        return
    tidemark: CliContext = context.obj
    if payload:
        _write_payload(tidemark, payload)
        return
    if all_websites:
        _list_all(tidemark, days, json)
        return
    website = website or _demo_website(tidemark, options)
    client = make_client(tidemark, options)
    with client_errors():
        print_rows(client.quarantine(website, days), REASON_COLUMNS, json)


def _list_all(tidemark: CliContext, days: int, json: bool) -> None:
    from schemas.lake.delta_table import UnreadableTable  # with the table format
    from stream.recovery.quarantined_messages import quarantined_messages

    try:
        found = quarantined_messages(tidemark.settings, days)
    except UnreadableTable as error:
        raise click.ClickException(f"{error}; run tidemark doctor") from None
    print_rows([msgspec.to_builtins(entry) for entry in found], ALL_COLUMNS, json)


def _write_payload(tidemark: CliContext, position: str) -> None:
    from schemas.lake.delta_table import UnreadableTable  # with the table format
    from stream.recovery.quarantined_messages import payload_at

    try:
        content = payload_at(tidemark.settings, position)
    except UnreadableTable as error:
        raise click.ClickException(f"{error}; run tidemark doctor") from None
    except ValueError:
        raise click.UsageError(NO_POSITION) from None
    if content is None:
        raise click.ClickException(f"the quarantine has no entry at {position}")
    click.get_binary_stream("stdout").write(content)


@quarantine.command("replay")
@click.option("--website", metavar="ID", help="Items of this website only.")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True)
@click.option(
    "--stage", type=click.Choice(("decode", "enrich", "write")), help="Items that failed there."
)
@click.option(
    "--where",
    "condition",
    metavar="CONDITION",
    help="'reason contains TEXT': items of this reason.",
)
@click.option("--position", metavar="POSITION", help="One item; --all has its position.")
@click.option(
    "--set",
    "changes",
    metavar="CHANGE",
    multiple=True,
    help="Repair each item: 'PATH = number' (or text, boolean) converts, 'PATH = nothing' removes, "
    "'PATH = VALUE' puts a value.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would become of each item.")
@click.option("--yes", is_flag=True, help="Skip the confirmation (never asked without a terminal).")
@as_json
@click.pass_obj
def replay(
    tidemark: CliContext,
    /,
    website: str | None,
    days: int,
    stage: str | None,
    condition: str | None,
    position: str | None,
    changes: Sequence[str],
    dry_run: bool,
    yes: bool,
    json: bool,
) -> None:
    """Send items of the quarantine again, repaired: each is stored once.

    On a machine of the installation. Items keep their time of receipt, and each is tried before:
    one that would fail again is not sent. An item that was replayed is left out; a replay that was
    killed may be run again.
    """
    from schemas.lake.delta_table import UnreadableTable  # with the table format
    from schemas.lake.item_changes import InvalidChange, is_position, parse_change
    from stream.enrich.rules.registry_lookups import registry_lookups
    from stream.recovery.quarantine_replay import ReplaySelection, plan_replay, send_replay
    from stream.runtime.errors import FatalError

    if not (website or position):
        raise click.UsageError("name the items: --website ID, or --position POSITION")
    if position and not is_position(position):
        raise click.UsageError(NO_POSITION)
    selection = ReplaySelection(website, days, stage, _reason_text(condition), position)
    try:
        parsed = [parse_change(change) for change in changes]
    except InvalidChange as error:
        raise click.UsageError(f"--set {error}") from None
    try:
        with tidemark.open_registry() as store:
            snapshot = Snapshot.read(store)
        lookups = registry_lookups(tidemark.settings, snapshot)
        of_website = snapshot.owner_of, snapshot.privacy_of
        plan = plan_replay(tidemark.settings, selection, parsed, lookups, *of_website)
        _show_plan(plan, dry_run, json)
        if dry_run or not plan.sendable:
            return
        if not yes and sys.stdin.isatty():
            click.confirm(f"Send {plan.sendable} items again?", abort=True)
        sent = send_replay(tidemark.settings, plan)
    except FatalError as error:
        raise click.ClickException(str(error)) from None
    except UnreadableTable as error:
        raise click.ClickException(f"{error}; run tidemark doctor") from None
    if not json:
        click.echo(f"{sent} items sent again; the workers store them within seconds")


def _reason_text(condition: str | None) -> str | None:
    """The text that the reasons of `reason contains TEXT` have."""
    if condition is None:
        return None
    match = CONDITION.fullmatch(condition)
    if match is None:
        raise click.UsageError(f"--where '{condition}': give 'reason contains TEXT'")
    return match[1]


def _show_plan(plan: "ReplayPlan", dry_run: bool, json: bool) -> None:
    """The items by outcome and reason; in a dry run also what the first of them would be."""
    verb = "would be sent" if dry_run else "is sent"
    items = [{**msgspec.to_builtins(item), "outcome": item.problem or verb} for item in plan.items]
    if json:
        print_rows(items, ITEM_COLUMNS, json)
        return
    groups = Counter((item["outcome"], item["stage"], item["reason"]) for item in items)
    newest = {(item["outcome"], item["stage"], item["reason"]): item["position"] for item in items}
    names = ("outcome", "stage", "reason")
    rows = [
        {"items": count, **dict(zip(names, group, strict=True)), "position": newest[group]}
        for group, count in groups.most_common()
    ]
    print_rows(rows, OUTCOME_COLUMNS, json)
    if dry_run and items:
        click.echo()
        shown = [{**item, "item": msgspec.json.encode(item["item"]).decode()} for item in items]
        print_rows(shown[:SHOWN_ITEMS], ITEM_COLUMNS, json)
    if without := sum(not item.has_sender for item in plan.items if item.problem is None):
        click.echo(f"{without} without browser and place: Kafka no longer has their requests")
    if plan.remaining:
        click.echo(f"{plan.remaining} more were not tried: narrow the items by --where, or repeat")


@click.command()
@click.option(
    "--website", metavar="ID", help="Also the limit of this website's requests without a key."
)
@service_options
@as_json
@click.pass_obj
def limits(tidemark: CliContext, /, website: str | None, json: bool, **options: Any) -> None:
    """List the rate limits of the organization, and what the last minute used of them.

    The key needs the scope manage:websites.
    """
    client = make_client(tidemark, options)
    with client_errors():
        entries = client.limits(website)
        print_rows(entries if json else list(_used_of(entries)), LIMIT_COLUMNS, json)


def _demo_website(tidemark: CliContext, options: dict[str, Any]) -> str | None:
    """The demo website, when its key is the default too."""
    demo = read_demo(tidemark.settings.data)
    return demo.website_id if demo and not (options["key"] or options["key_file"]) else None


def _used_of(entries: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Rows of a table: `3 of 6,000`."""
    for entry in entries:
        used = {
            name: f"{entry[name]['used']:,} of {entry[name]['limit']:,}"
            for name in COUNTED
            if name in entry
        }
        yield {**entry, **used}
