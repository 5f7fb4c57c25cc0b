"""`tidemark quarantine` and `tidemark limits`: what was not stored, and how much may still come."""

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_rows
from deploy.cli.query_options import client_errors, make_client, service_options
from deploy.demo.demo_file import read_demo

REASON_COLUMNS = ("items", "stage", "table", "lastAt", "reason", "sample")
ALL_COLUMNS = ("items", "stage", "topic", "website", "lastAt", "reason", "position")
LIMIT_COLUMNS = ("group", "websiteId", "requests", "items", "bytes", "resetsIn")
COUNTED = ("requests", "items", "bytes")


@click.command()
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
@click.pass_obj
def quarantine(
    tidemark: CliContext,
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
    their bytes (at most 64 KiB).
    """
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
        raise click.UsageError("a position is TOPIC/PARTITION/OFFSET/SEQ") from None
    if content is None:
        raise click.ClickException(f"the quarantine has no entry at {position}")
    click.get_binary_stream("stdout").write(content)


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
