"""`tidemark person export`: everything about one visitor or profile, as a zip."""

from pathlib import Path
from typing import Any

import click

from deploy.cli.context import CliContext
from deploy.cli.export import write_file
from deploy.cli.query_options import client_errors, make_client, service_options


@click.group()
def person() -> None:
    """Export everything about one visitor or profile."""


@person.command("export")
@click.option("--website", required=True, metavar="ID", help="Website of the visitor.")
@click.option("--visitor", metavar="ID", help="Anonymous id.")
@click.option(
    "--profile", metavar="ID", help="Profile id, with the visitors that were identified with it."
)
@click.option(
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Zip file, renamed into place when complete.",
)
@service_options
@click.pass_obj
def export_person(
    tidemark: CliContext,
    /,
    website: str,
    visitor: str | None,
    profile: str | None,
    output: Path,
    **options: Any,
) -> None:
    """Export all rows of a visitor or profile: JSON lines and CSV of each table."""
    if (visitor is None) is (profile is None):
        raise click.UsageError("give either --visitor or --profile")
    client = make_client(tidemark, options)
    with client_errors():
        write_file(
            tidemark,
            output,
            lambda: client.exported_person(website, visitor=visitor, profile=profile),
        )
