"""`tidemark demo`: more made-up visitors for the demo website of a first start."""

import secrets

import click

from deploy.cli.context import CliContext
from deploy.demo.first_start import send_week
from deploy.demo.registry_records import read_demo
from deploy.demo.sender import DemoSendFailed


@click.command()
@click.option("--visitors", type=click.IntRange(1, 1_000_000), default=1200, show_default=True)
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    default=0,
    metavar="R",
    help="Items a second at most; 0: as fast as the collector takes them.",
)
@click.option("--seed", type=int, help="The same seed makes the same visitors; random by default.")
@click.pass_obj
def demo(tidemark: CliContext, visitors: int, rate: float, seed: int | None) -> None:
    """Send the visits of made-up people in the last seven days, through the collector."""
    known = read_demo(tidemark.settings.data)
    if known is None:
        raise click.ClickException(
            f"there is no demo in {tidemark.settings.data}: `tidemark up` makes it"
        )
    seed = secrets.randbits(32) if seed is None else seed
    try:
        send_week(tidemark.settings, known, visitors, seed, click.echo, lambda: False, rate)
    except DemoSendFailed as refused:
        raise click.ClickException(str(refused)) from None
