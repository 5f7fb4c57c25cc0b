"""`tidemark quarantine` and `tidemark limits`: what was not stored, and how much may still come."""

from collections.abc import Iterable
from typing import Any

import click

from deploy.cli.context import CliContext, as_json, print_rows
from deploy.cli.query_options import client_errors, make_client, service_options
from deploy.demo.demo_file import read_demo

REASON_COLUMNS = ("items", "stage", "table", "lastAt", "reason", "sample")
LIMIT_COLUMNS = ("group", "websiteId", "requests", "items", "bytes", "resetsIn")
COUNTED = ("requests", "items", "bytes")


@click.command()
@click.option(
    "--website", metavar="ID", help="Website id. Default: that of the key, or the demo website."
)
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True)
@service_options
@as_json
@click.pass_obj
def quarantine(
    tidemark: CliContext, /, website: str | None, days: int, json: bool, **options: Any
) -> None:
    """List why items of a website were not stored, the most frequent reason first."""
    website = website or _demo_website(tidemark, options)
    client = make_client(tidemark, options)
    with client_errors():
        print_rows(client.quarantine(website, days), REASON_COLUMNS, json)


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
