"""`tidemark debug`: follow what the collector receives for a website, and what becomes of it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import click

from deploy.cli.context import KEY_ADVICE, CliContext, key_options
from deploy.cli.item_outcomes import (
    ACCEPTED,
    OutcomeFollower,
    outcome_reason,
    outcome_word,
    with_outcomes,
)
from deploy.demo.demo_file import read_demo
from deploy.local.terminal import escape_line
from query.client import Client, ServiceError, TransferError
from schemas.runtime.service_urls import collector_url, query_service_url

READ_TIMEOUT_SECONDS = 60.0
"""The collector sends at least an empty keepalive line more often than that."""

DebugLine = Mapping[str, Any]

LABEL_FIELDS = ("name", "metricName", "message", "exitType", "profileId", "path")
"""Fields that identify an item; the first one present is shown."""


@click.command()
@click.argument("website", required=False, metavar="[WEBSITE]")
@click.option("--once", is_flag=True, help="Print the recent items and exit.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print each item as JSON, as the collector sends it."
)
@key_options
@click.option("--url", help="URL of the collector. Default: the one on this machine.")
@click.option(
    "--query-url",
    help="URL of the query service, which knows what became of items. "
    "Default: the one on this machine; none with --url.",
)
@click.pass_obj
def debug(
    tidemark: CliContext, /, website: str | None, once: bool, as_json: bool, **more: Any
) -> None:
    """Show the items received for a website as they arrive, with rejects and reasons.

    Items that turn out to be bots', duplicates or quarantined are shown again with the reason.
    Default: the demo website and its key.

    The key needs `read:data`. Any collector shows what all of them received; a warning says what
    is missing.
    """
    demo = read_demo(tidemark.settings.data)
    website = website or (demo.website_id if demo else None)
    key = more["key_file"] or more["key"] or (demo.api_key if demo else None)
    if not website or not key:
        tidemark.require_data_folder()
        raise click.UsageError("give a website and an API key: TIDEMARK_API_KEY, or --key-file")
    settings = tidemark.settings
    url = more["url"] or collector_url(settings)
    parameters = {"website_id": website} if once else {"website_id": website, "follow": "1"}
    show = print_json_line if as_json else print_line
    client = query_client(tidemark, key, more["url"], more["query_url"])
    with open_debug(url, parameters, key) as response:
        if once:
            show_recent(recent_lines(response), client, show)
        else:
            show_all(follow_lines(response), client, show)


def query_client(
    tidemark: CliContext, key: str, url: str | None, query_url: str | None
) -> Client | None:
    """The client that looks up receipts; None when the query service is not known."""
    local = None if url else query_service_url(tidemark.settings)
    address = query_url or local
    return Client(address, key, tries=1) if address else None


def show_recent(
    lines: Iterator[dict[str, Any]], client: Client | None, show: Callable[[DebugLine], None]
) -> None:
    """Show the recent items with what became of them."""
    recent: Sequence[DebugLine] = list(lines)
    if client:
        try:
            recent = with_outcomes(client, recent)
        except (ServiceError, TransferError) as error:
            warn(f"what became of the items is not shown: {error}")
    for line in recent:
        show(line)


def show_all(
    lines: Iterator[dict[str, Any]], client: Client | None, show: Callable[[DebugLine], None]
) -> None:
    """Show items as they arrive, and again when they turn out to be more than stored."""
    follower = OutcomeFollower(client, show, warn) if client else None
    if follower:
        follower.start()
    for line in lines:
        show(line)
        if follower:
            follower.add(line)


def print_line(line: DebugLine) -> None:
    click.echo(format_line(line))


def print_json_line(line: DebugLine) -> None:
    click.echo(json.dumps(line))


def warn(message: str) -> None:
    click.echo(f"warning: {escape_line(message)}", err=True)


def recent_lines(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    """The recent items, oldest first."""
    body = json.load(response)
    if "warning" in body:
        warn(body["warning"])
    yield from reversed(body["items"])


def follow_lines(response: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The recent items and new ones as they arrive, until the collector stops."""
    for text in response:
        line = json.loads(text) if text.strip() else {}
        if "warning" in line:
            warn(line["warning"])
        elif line:
            yield line


def format_line(line: Mapping[str, Any]) -> str:
    """One line for a terminal, with control characters of visitors' texts escaped."""
    return escape_line(_format_line(line))


def _format_line(line: Mapping[str, Any]) -> str:
    clock = line["receivedAt"][11:23]
    if not line["accepted"]:
        item = "" if "index" not in line else f" item {line['index']}"
        code = f" ({line['code']})" if "code" in line else f": {line['count']}"
        return f"{clock}  refused   {line['path']}{item}: {line['message']}{code}"
    if "item" not in line:
        return f"{clock}  accepted  {line['type']}: {line['count']} items, {line['message']}"
    item = line["item"]
    what = next((str(item[name]) for name in LABEL_FIELDS if item.get(name) is not None), "")
    where = item.get("path")
    shown = f"  {where}" if where and where != what else ""
    word = outcome_word(line["outcome"]) if "outcome" in line else ACCEPTED
    return f"{clock}  {word:8}  {line['type']}: {what}{shown}{_remarks(line)}"


def _remarks(line: Mapping[str, Any]) -> str:
    """What became of the item, and what is stored otherwise than it was sent."""
    remarks = [
        outcome_reason(line.get("outcome", {})),
        f"stored at {line['storedTime']}" if "storedTime" in line else "",
        "eventId was received before" if line.get("repeated") else "",
        line.get("hint", ""),
        line.get("drift", ""),
    ]
    shown = "; ".join(filter(None, remarks))
    return f"  ({shown})" if shown else ""


@contextmanager
def open_debug(url: str, parameters: Mapping[str, str], key: str) -> Iterator[HTTPResponse]:
    """The collector's response stream; errors become one-line messages."""
    parts = urlsplit(url)
    connection_type = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = connection_type(parts.hostname or "", parts.port, timeout=READ_TIMEOUT_SECONDS)
    try:
        connection.request(
            "GET", f"{parts.path}/debug?{urlencode(parameters)}", headers={"x-api-key": key}
        )
        response = connection.getresponse()
        if response.status != 200:
            message = json.loads(response.read())["message"]
            advice = f". {KEY_ADVICE}" if response.status in (401, 403) else ""
            raise click.ClickException(escape_line(f"{message}{advice}"))
        yield response
    except (OSError, HTTPException, ValueError) as error:
        raise click.ClickException(
            f"{url}: {error}; is the collector running? `tidemark status` shows it"
        ) from None
    finally:
        connection.close()
