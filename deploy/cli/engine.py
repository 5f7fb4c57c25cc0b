"""`tidemark engine`: prepare a distributed query engine."""

import asyncio

import click

from deploy.cli.context import CliContext
from schemas.kinds import TABLES
from schemas.lake.delta_table import open_table
from schemas.tables import Table


@click.group()
def engine() -> None:
    """Prepare the distributed engine of TIDEMARK_ENGINE."""


@engine.command()
@click.option("--address", default="", help="Another user: that of TIDEMARK_ENGINE only reads.")
@click.option("--lake", default="", help="Root of the tables as the engine reaches it.")
@click.pass_obj
def register(tidemark: CliContext, address: str, lake: str) -> None:
    """Register the tables of the lake in the catalog and schema of the engine.

    Tables that do not exist yet are named; run it again once they have rows.
    """
    from query.engine.trino.address import parse_address  # with an HTTP client
    from query.engine.trino.client import TrinoError, TrinoUnreachable
    from query.engine.trino.register import register_tables

    settings = tidemark.settings
    text = address or settings.engine
    try:
        at = parse_address(text)
    except ValueError as error:
        name = "--address" if address else "TIDEMARK_ENGINE"
        raise click.ClickException(f"{name} {error}") from None
    stored = [table for table in TABLES if open_table(settings.lake_url, table)]
    try:
        new, known = asyncio.run(register_tables(at, stored, lake or settings.lake_url))
    except (TrinoError, TrinoUnreachable) as error:
        raise click.ClickException(f"{at}: {error}") from None
    _report(str(at), new, known, [table for table in TABLES if table not in stored])


def _report(address: str, new: list[str], known: list[str], absent: list[Table]) -> None:
    click.echo(f"{address}: {', '.join(new) or 'no new tables'} registered")
    if known:
        click.echo(f"registered before: {', '.join(known)}")
    if absent:
        click.echo(f"without rows, so not registered: {', '.join(table.name for table in absent)}")
