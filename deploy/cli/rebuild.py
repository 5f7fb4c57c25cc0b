"""`tidemark rebuild`: make prepared results anew."""

import asyncio

import click

from deploy.cli.context import CliContext, as_json, print_json
from deploy.cli.progress_bar import ProgressBar
from schemas.registry import Website

MEGABYTE = 1_048_576


@click.command()
@click.option("--website", metavar="ID", help="Only those of this website.")
@as_json
@click.pass_obj
def rebuild(tidemark: CliContext, website: str | None, json: bool) -> None:
    """Make the prepared results of this machine anew.

    Query services make them by themselves when they are first asked; this does it ahead of them,
    for all websites and all days that are over, and they may go on meanwhile.
    """
    from query.prepared.rebuild import rebuild as rebuild_parts  # with the engine

    with tidemark.open_registry() as store:
        if website is not None:
            store.get(Website, website)
        websites = [website] if website else [each.id for each in store.list(Website)]
    bar = ProgressBar()

    def report(parts: int, done: int) -> None:
        bar.show(f"{parts:,} prepared results, {done:,} of {len(websites):,} websites")

    rebuilt = asyncio.run(rebuild_parts(tidemark.settings, websites, report))
    bar.end()
    if rebuilt is None:
        raise click.ClickException("prepared results are switched off: TIDEMARK_PREPARED_MB is 0")
    if json:
        return print_json(rebuilt)
    click.echo(
        f"{rebuilt.rollups:,} prepared results of {rebuilt.websites:,} websites, "
        f"{rebuilt.size / MEGABYTE:,.1f} MB in all"
    )
    if not rebuilt.rollups:
        click.echo("data files that were written today have none before midnight (UTC)")
    if rebuilt.not_prepared:
        click.echo(
            f"{rebuilt.not_prepared:,} were not made; queries read the rows of their data files"
        )
    return None
