"""`tidemark export`: stored rows through the Python client."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from deploy.cli.context import CliContext
from deploy.cli.query_options import bom_option, client_errors, prepare_request, query_options
from deploy.cli.query_output import FILE_FORMAT_NAMES, copy_to, print_progress, write_output
from query.export.request import EXPORT_TABLES
from query.formats.negotiation import FORMULAS


@click.command()
@click.argument("table", type=click.Choice(list(EXPORT_TABLES)))
@query_options
@click.option("--columns", metavar="A,B", help="Columns to export. Default: all.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FILE_FORMAT_NAMES),
    help="Default: that of the ending of --output, else ndjson.",
)
@click.option(
    "--formulas",
    type=click.Choice(FORMULAS),
    help="CSV only: `keep` does not escape texts that a spreadsheet would run as formulas.",
)
@bom_option
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Output file, renamed into place when complete. Default: standard output.",
)
@click.pass_obj
def export(
    tidemark: CliContext, /, table: str, format_: str | None, output: Path | None, **options: Any
) -> None:
    """Export the stored rows of a table, without a row limit."""
    client, request = prepare_request(tidemark, options)
    format_ = format_ or format_of(output)
    with client_errors():
        if output is None:
            write_output(client.exported(table, format=format_, **request), format_)
            return
        write_file(tidemark, output, lambda: client.exported(table, format=format_, **request))


def write_file(tidemark: CliContext, output: Path, request: Callable[[], Iterator[bytes]]) -> None:
    """Write a file with progress, and put it in place when it is complete.

    Nothing is requested when the file cannot be written.
    """
    os.umask(tidemark.umask)
    path = _regular(output)
    partial = path.with_name(f"{path.name}.part")
    try:
        partial.unlink(missing_ok=True)  # of an export that was killed
        with partial.open("xb") as file:
            size = copy_to(file, request(), print_progress)
        partial.replace(path)
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            partial.unlink()
    click.echo(f"\r{output}: {size:,} bytes", err=True)


def format_of(output: Path | None) -> str:
    """The format that the name of a file ends in."""
    ending = output.suffix.lower().removeprefix(".") if output else ""
    return ending if ending in FILE_FORMAT_NAMES else "ndjson"


def _regular(output: Path) -> Path:
    """Where a file is put in place: behind links, and never in place of a device or a pipe."""
    path = output.resolve()
    if path.exists() and not path.is_file():
        raise click.BadParameter(
            f"{output} is not a regular file; leave --output away, and redirect standard output",
            param_hint="'--output'",
        )
    return path
