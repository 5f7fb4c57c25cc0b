"""Options of `ask`, `export` and `mcp`, and the client and request that they make."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from deploy.cli.context import KEY_ADVICE, CliContext, combine_options, key_options
from deploy.demo.demo_file import Demo, read_demo
from deploy.local.terminal import escape_line
from query.client import (
    AccessDenied,
    Client,
    InvalidRequest,
    ServiceError,
    TransferError,
    parse_filter,
)
from schemas.runtime.service_urls import query_service_url

DEFAULT_PRESET = "last_7d"
"""The time range when none is given."""
QUOTED_NAME = re.compile(r"(?P<before>Unknown [a-z ]+ |did you mean | or )?'(?P<name>[^']+)'")
OPTION_BY_MEMBER = {
    "startDate": "--from",
    "endDate": "--to",
    "preset": "--preset",
    "timezone": "--timezone",
    "granularity": "--granularity",
    "compare": "--compare",
    "limit": "--limit",
    "page": "--page",
    "website_id": "--website",
    "parameters[0].steps": "--step",
    "parameters[0].goals": "--goal",
}
"""Request field → the option that sets it, for error messages."""

LISTED_MEMBER = re.compile(
    r"(?:parameters\[0\]\.)?(filters|having|steps|goals|segments)\[(\d+)\](?:\..*)?"
)
OPTION_BY_LIST = {
    "filters": "--where",
    "having": "--having",
    "steps": "--step",
    "goals": "--goal",
    "segments": "--segment",
}
"""Request field with a list → the repeated option that fills it."""

bom_option = click.option(
    "--bom",
    is_flag=True,
    help="CSV only: begin with a byte order mark, so that Excel on Windows reads UTF-8.",
)
service_options = combine_options(
    key_options,
    click.option("--url", help="URL of the query service. Default: the one on this machine."),
)

query_options = combine_options(
    click.option(
        "--website", metavar="ID", help="Website id, or several: a,b. Default: the demo website."
    ),
    click.option("--link", metavar="ID", help="Short link id, instead of a website."),
    click.option(
        "--from",
        "start",
        metavar="DAY",
        help="First day (2026-11-01) or time. Default: the last 7 days.",
    ),
    click.option("--to", "end", metavar="DAY", help="Last day (inclusive) or time. Default: now."),
    click.option(
        "--preset",
        help="Named time range instead of --from and --to: today, last_7d, this_month, …",
    ),
    click.option("--timezone", metavar="NAME", help="Time zone of the days, e.g. Europe/Berlin."),
    click.option(
        "--where",
        multiple=True,
        metavar="FILTER",
        help="Filter: 'country = DE', 'path starts_with /docs', 'plan in pro, team', "
        "'referrer is null', 'has done signup ever', 'segment = NAME'. May be repeated; all must "
        "hold.",
    ),
    click.option(
        "--person",
        type=click.Choice(["device", "profile"]),
        help="What counts as one visitor: a device (the default), or all devices of a profile.",
    ),
    click.option("--filters", metavar="JSON", help="JSON array of filters, as in the API."),
    click.option("--bots", is_flag=True, help="Include bot traffic."),
    service_options,
)


def make_client(tidemark: CliContext, options: dict[str, Any]) -> Client:
    """The client of the options for key and URL, which are taken out; the demo's key by default."""
    settings = tidemark.settings
    demo = read_demo(settings.data)
    from_file, from_option = options.pop("key_file"), options.pop("key")
    key = from_file or from_option or (demo and demo.api_key)
    url = options.pop("url") or query_service_url(settings)
    if not key:
        tidemark.require_data_folder()
        raise click.UsageError("give an API key: TIDEMARK_API_KEY, or --key-file")
    return Client(url, key)


def prepare_request(tidemark: CliContext, options: dict[str, Any]) -> tuple[Client, dict[str, Any]]:
    """The client and the arguments of its queries; key and website default to the demo's."""
    subject = _subject(options, read_demo(tidemark.settings.data))
    client = make_client(tidemark, options)
    if subject["website_id"] is subject["link_id"] is None or all(subject.values()):
        raise click.UsageError("give either --website or --link")
    if options["end"] and not options["start"]:
        raise click.UsageError("--to needs --from, the first day")
    if options["start"] and options["preset"]:
        raise click.UsageError("give either --from or --preset")
    options["include_bots"] = options.pop("bots") or None
    options["filters"] = _filters(options.pop("where"), options["filters"]) or None
    if not (options["start"] or options["preset"]):
        options["preset"] = DEFAULT_PRESET
        if sys.stderr.isatty():
            click.echo(f"showing {DEFAULT_PRESET}; --from or --preset set the time range", err=True)
    options["bom"] = options.get("bom") or None
    return client, {**subject, **{n: v for n, v in options.items() if v not in (None, ())}}


def _subject(options: dict[str, Any], demo: Demo | None) -> dict[str, str | None]:
    website, link = options.pop("website"), options.pop("link")
    if website is None and link is None and demo is not None:
        website = demo.website_id
    return {"website_id": website, "link_id": link}


def _filters(short: tuple[str, ...], text: str | None) -> list[Any]:
    """The filters of --where and --filters."""
    try:
        conditions: list[Any] = [parse_filter(each) for each in short]
    except InvalidRequest as error:
        raise click.UsageError(f"--where: {error}") from None
    more = read_json(text, "--filters") if text else []
    return conditions + (more if isinstance(more, list) else [more])


def read_json(text: str, option: str) -> Any:
    """The value of JSON text; a usage error names the option."""
    try:
        return json.loads(text)
    except ValueError as wrong:
        raise click.UsageError(f"{option} is not JSON: {wrong}") from None


def with_option_names(sentence: str) -> str:
    """An error message of the service with option names in place of request fields.

    What the user wrote, and what is suggested instead, stays as it is.
    """

    def renamed(quoted: re.Match[str]) -> str:
        option = OPTION_BY_MEMBER.get(quoted["name"])
        if listed := LISTED_MEMBER.fullmatch(quoted["name"]):
            option = f"{OPTION_BY_LIST[listed[1]]} number {int(listed[2]) + 1}"
        return quoted[0] if quoted["before"] or option is None else option

    return escape_line(QUOTED_NAME.sub(renamed, sentence))


@contextmanager
def client_errors() -> Iterator[None]:
    """Errors of the client as one line each."""
    try:
        yield
    except AccessDenied as error:
        raise click.ClickException(f"{with_option_names(str(error))}. {KEY_ADVICE}") from None
    except ServiceError as error:
        raise click.ClickException(with_option_names(str(error))) from None
    except TransferError as error:
        raise click.ClickException(
            f"{error}; is the query service running? `tidemark status` shows it"
        ) from None
