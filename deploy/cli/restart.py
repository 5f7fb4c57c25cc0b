"""`tidemark restart`: restart one process of a running `tidemark up`."""

import click

from deploy.cli.context import CliContext
from deploy.local.process_control import CannotRestart, restart_without_gap


@click.command()
@click.argument("name")
@click.pass_obj
def restart(tidemark: CliContext, name: str) -> None:
    """Restart the process NAME of `tidemark up` after it has finished its work.

    The other processes keep running. Beside the only collector or query service a second one runs
    meanwhile, so that no request is refused. `tidemark status` lists the names.
    """
    try:
        process = restart_without_gap(tidemark.settings, name)
    except CannotRestart as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{name} is ready again, pid {process.pid}")
