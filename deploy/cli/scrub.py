"""`tidemark scrub`: verify the checksum of every data file now."""

import click

from deploy.cli.context import CliContext, as_json, print_json
from deploy.cli.progress_bar import ProgressBar
from schemas.lake.delta_log import LOG_FOLDER

MEGABYTE = 1_048_576


@click.command()
@as_json
@click.pass_context
def scrub(context: click.Context, json: bool) -> None:
    """Read every data file of every table and verify its checksum.

    The process `keeper` does the same in the background. Damage is recorded: queries that need a
    damaged file fail until it is repaired. Exit code 1 when there is damage.
    """
    from stream.maintenance.scrub import scrub_all  # with the table format

    settings = context.find_object(CliContext).settings  # type: ignore[union-attr]
    bar, files = ProgressBar(), []
    for file in scrub_all(settings):
        files.append(file)
        bar.show(f"{len(files):,} files, {sum(d.size for d in files) // MEGABYTE:,} MB read")
    bar.end()
    damaged = [file for file in files if file.problem]
    if json:
        print_json(damaged)
    else:
        for file in damaged:
            click.echo(f"{file.table}: {file.path} {file.problem}")
        adopted = sum(file.is_checksum_new for file in files)
        taken = f", {adopted:,} of them had no checksum until now" if adopted else ""
        read = [file for file in files if file.path != LOG_FOLDER]
        click.echo(f"{len(read):,} data files read{taken}; {len(damaged):,} damaged")
        if damaged:
            click.echo("fix: tidemark doctor --repair; for one file: tidemark repair TABLE/PATH")
    context.exit(1 if damaged else 0)
