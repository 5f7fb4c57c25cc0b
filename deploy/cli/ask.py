"""`tidemark ask` and `tidemark export`: queries and exports through the Python client."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from deploy.cli.context import CliContext, combine_options, key_options, print_json, print_rows
from deploy.demo.demo_file import read_demo
from deploy.local.terminal import escape_line, escape_lines
from query.client import Broken, Client, Refused, Rows
from query.export.request import EXPORT_TABLES
from query.formats.negotiation import FORMULAS
from query.formats.output_formats import FILE_FORMATS

FILE_FORMAT_NAMES = [format_.name for format_ in FILE_FORMATS]
TEXT_FORMATS = ("csv", "ndjson")
PROGRESS_BYTES = 8 * 2**20
DEFAULT_PRESET = "last_7d"
"""The time range when none is given."""
OPTION_BY_MEMBER = {"startDate": "--from", "endDate": "--to", "preset": "--preset"}
"""Request field → the option that sets it, for error messages."""

query_options = combine_options(
    click.option("--website", metavar="ID", help="Website id. Default: the demo website."),
    click.option("--link", metavar="ID", help="Short link id, instead of a website."),
    click.option(
        "--from",
        "start",
        metavar="DAY",
        help="First day (2026-11-01) or time. Default: the last 7 days.",
    ),
    click.option("--to", "end", metavar="DAY", help="Last day (inclusive) or time."),
    click.option(
        "--preset",
        help="Named time range instead of --from and --to: today, last_7d, this_month, …",
    ),
    click.option("--timezone", metavar="NAME", help="Time zone of the days, e.g. Europe/Berlin."),
    click.option("--filters", metavar="JSON", help="JSON array of filters, as in the API."),
    click.option("--bots", is_flag=True, help="Include bot traffic."),
    key_options,
    click.option("--url", help="URL of the query service. Default: the one on this machine."),
)


@click.command()
@click.argument("types", nargs=-1, required=True, metavar="TYPE...")
@query_options
@click.option(
    "--granularity", help="Bucket of a time series: minute, hourly, daily, weekly, monthly."
)
@click.option("--limit", type=click.IntRange(min=1), help="Maximum rows per query type.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", *FILE_FORMAT_NAMES]),
    default="table",
    show_default=True,
    help="Output format; file formats hold one query type.",
)
@click.pass_obj
def ask(tidemark: CliContext, /, types: tuple[str, ...], format_: str, **options: Any) -> None:
    """Run query types by name, e.g. `tidemark ask summary top_pages --preset last_7d`."""
    if format_ in FILE_FORMAT_NAMES and len(types) > 1:
        raise click.UsageError(f"--format {format_} holds one query type; {len(types)} were given")
    client, request = _prepare_request(tidemark, options)
    if request.get("filters"):
        request["filters"] = _parse_filters(request["filters"])
    with _client_errors():
        if format_ in FILE_FORMAT_NAMES:
            write_output(client.written(types[0], format_, **request), format_)
        else:
            _print_results(client.each(types, **request), json=format_ == "json")


@click.command()
@click.argument("table", type=click.Choice(list(EXPORT_TABLES)))
@query_options
@click.option("--columns", metavar="A,B", help="Columns to export. Default: all.")
@click.option(
    "--format", "format_", type=click.Choice(FILE_FORMAT_NAMES), default="ndjson", show_default=True
)
@click.option(
    "--formulas",
    type=click.Choice(FORMULAS),
    help="CSV only: `keep` does not escape texts that a spreadsheet would run as formulas.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Output file, renamed into place when complete. Default: standard output.",
)
@click.pass_obj
def export(
    tidemark: CliContext, /, table: str, format_: str, output: Path | None, **options: Any
) -> None:
    """Export the stored rows of a table, without a row limit."""
    client, request = _prepare_request(tidemark, options)
    with _client_errors():
        chunks = client.exported(table, format=format_, **request)
        if output is None:
            write_output(chunks, format_)
            return
        os.umask(tidemark.umask)
        partial = output.with_name(f"{output.name}.part")
        try:
            with partial.open("wb") as file:
                size = _copy_to(file, chunks, _print_progress)
            partial.replace(output)
        finally:
            partial.unlink(missing_ok=True)
        click.echo(f"\r{output}: {size:,} bytes", err=True)


def _print_results(results: Mapping[str, Rows | Refused], json: bool) -> None:
    """Print the results; then fail with the reasons if any query type failed."""
    errors = [str(outcome) for outcome in results.values() if isinstance(outcome, Refused)]
    good = {name: rows for name, rows in results.items() if isinstance(rows, Rows)}
    if json:
        print_json(good)
    else:
        _print_tables(good)
    if errors:
        raise click.ClickException(_with_option_names("; ".join(errors)))


def _print_tables(results: Mapping[str, Rows]) -> None:
    for name, rows in results.items():
        if len(results) > 1:
            click.echo(f"{name}:")
        print_rows(rows, list(rows[0]) if rows else ["no rows"], json=False)


def _prepare_request(
    tidemark: CliContext, options: dict[str, Any]
) -> tuple[Client, dict[str, Any]]:
    """The client and its request parameters; key and website default to those of the demo."""
    settings = tidemark.settings
    demo = read_demo(settings.data)
    from_file, from_option = options.pop("key_file"), options.pop("key")
    key = from_file or from_option or (demo and demo.api_key)
    url = options.pop("url") or f"http://{settings.host}:{settings.query_port}"
    website, link = options.pop("website"), options.pop("link")
    if website is None and link is None and demo is not None:
        website = demo.website_id
    if not key:
        tidemark.require_data_folder()
        raise click.UsageError("give an API key: TIDEMARK_API_KEY, or --key-file")
    if (website is None) is (link is None):
        raise click.UsageError("give either --website or --link")
    if bool(options["start"]) is not bool(options["end"]):
        missing = "--to" if options["start"] else "--from"
        raise click.UsageError(f"--from and --to go together: {missing} is missing")
    options["include_bots"] = options.pop("bots") or None
    if not (options["start"] or options["end"] or options["preset"]):
        options["preset"] = DEFAULT_PRESET
        if sys.stderr.isatty():
            click.echo(
                f"showing {DEFAULT_PRESET}; use --from and --to, or --preset, for another time "
                "range",
                err=True,
            )
    request = {name: value for name, value in options.items() if value is not None}
    return Client(url, key), {"website_id": website, "link_id": link, **request}


def write_output(chunks: Iterable[bytes], format_: str) -> None:
    """Write to standard output; on a terminal, control characters are escaped."""
    if sys.stdout.isatty():
        if format_ not in TEXT_FORMATS:
            raise click.UsageError(
                f"{format_} is a binary format; redirect it to a file or use --output"
            )
        chunks = escape_lines(chunks)
    _copy_to(sys.stdout.buffer, chunks)


def _copy_to(
    file: BinaryIO, chunks: Iterable[bytes], report: Callable[[int], None] | None = None
) -> int:
    size = reported = 0
    for chunk in chunks:
        size += file.write(chunk)
        if report and size - reported >= PROGRESS_BYTES:
            reported = size
            report(size)
    file.flush()
    return size


def _print_progress(size: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{size / 2**20:,.0f} MiB", err=True, nl=False)


def _with_option_names(sentence: str) -> str:
    """An error message of the service with option names in place of request fields."""
    for member, option in OPTION_BY_MEMBER.items():
        sentence = sentence.replace(f"'{member}'", option)
    return escape_line(sentence)


@contextmanager
def _client_errors() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise click.ClickException(_with_option_names(str(error))) from None
    except Broken as error:
        raise click.ClickException(
            f"{error}; is the query service running? `tidemark status` shows it"
        ) from None


def _parse_filters(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as wrong:
        raise click.UsageError(f"--filters is not JSON: {wrong}") from None
