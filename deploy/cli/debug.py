"""`tidemark debug`: follow what the collector receives for a website."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import click

from deploy.cli.context import CliContext, key_options
from deploy.demo.demo_file import read_demo
from deploy.local.terminal import escape_line

READ_TIMEOUT_SECONDS = 60.0
"""The collector sends at least an empty keepalive line more often than that."""

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
@click.pass_obj
def debug(
    tidemark: CliContext, /, website: str | None, once: bool, as_json: bool, **more: Any
) -> None:
    """Show the items received for a website as they arrive, with rejects and reasons.

    Default: the demo website and its key.

    The key needs `read:data`. Behind a load balancer one collector answers, and shows what
    it received itself.
    """
    demo = read_demo(tidemark.settings.data)
    website = website or (demo.website_id if demo else None)
    key = more["key_file"] or more["key"] or (demo.api_key if demo else None)
    if not website or not key:
        tidemark.require_data_folder()
        raise click.UsageError("give a website and an API key: TIDEMARK_API_KEY, or --key-file")
    settings = tidemark.settings
    url = more["url"] or f"http://{settings.host}:{settings.collect_port}"
    parameters = {"website_id": website} if once else {"website_id": website, "follow": "1"}
    with open_debug(url, parameters, key) as response:
        for line in recent_lines(response) if once else follow_lines(response):
            click.echo(json.dumps(line) if as_json else format_line(line))


def recent_lines(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    """The recent items, oldest first."""
    body = json.load(response)
    if "warning" in body:
        click.echo(f"warning: {escape_line(body['warning'])}", err=True)
    yield from reversed(body["items"])


def follow_lines(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    """The recent items and new ones as they arrive, until the collector stops."""
    for text in response:
        if text.strip():
            yield json.loads(text)


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
    return f"{clock}  accepted  {line['type']}: {what}{shown}{_remarks(line)}"


def _remarks(line: Mapping[str, Any]) -> str:
    """What is stored otherwise than it was sent."""
    remarks = [
        f"stored at {line['storedTime']}" if "storedTime" in line else "",
        "eventId was received before" if line.get("repeated") else "",
        line.get("hint", ""),
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
            raise click.ClickException(json.loads(response.read())["message"])
        yield response
    except (OSError, HTTPException, ValueError) as error:
        raise click.ClickException(
            f"{url}: {error}; is the collector running? `tidemark status` shows it"
        ) from None
    finally:
        connection.close()
