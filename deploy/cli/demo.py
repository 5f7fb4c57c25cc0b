"""`tidemark demo`: generate more traffic for the demo website."""

import secrets

import click

from deploy.cli.context import CliContext
from deploy.demo.demo_file import read_demo
from deploy.demo.first_start import DemoSendFailed, send_week


@click.command()
@click.option(
    "--visitors",
    type=click.IntRange(1, 1_000_000),
    default=1200,
    show_default=True,
    help="Number of visitors.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    default=0,
    metavar="R",
    help="Maximum items per second; 0: unlimited.",
)
@click.option(
    "--seed",
    type=int,
    help="Seed of the generator; the same seed generates the same visits. Default: random.",
)
@click.pass_obj
def demo(tidemark: CliContext, visitors: int, rate: float, seed: int | None) -> None:
    """Generate visits of the last seven days and send them to the collector."""
    existing = read_demo(tidemark.settings.data)
    if existing is None:
        raise click.ClickException(
            f"there is no demo in {tidemark.settings.data}; `tidemark up` creates it"
        )
    seed = secrets.randbits(32) if seed is None else seed
    try:
        send_week(tidemark.settings, existing, visitors, seed, click.echo, lambda: False, rate)
    except DemoSendFailed as error:
        raise click.ClickException(str(error)) from None
