"""`tidemark scale`: how many workers and partitions the load needs."""

import click
from msgspec import Struct

from deploy.cli.context import CliContext, as_json, print_json
from deploy.local.scaling.advice import Advice, advise
from deploy.local.scaling.measurement import LoadMeasurement, NotMeasured, measure
from deploy.local.terminal import format_table

EXIT_CODES = {"none": 0, "workers": 1, "partitions": 1, "hot": 1, "start": 2, "stalled": 2}
SHOWN_PARTITIONS = 10
"""Partitions with the largest lag that the table lists; `--json` has all."""


class Report(Struct, frozen=True):
    """What `--json` prints."""

    advice: Advice
    measured: LoadMeasurement


@click.command()
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=15.0,
    show_default=True,
    help="How long to measure.",
)
@click.option("--check", is_flag=True, help="Set the exit code: 0 no change, 1 change, 2 down.")
@as_json
@click.pass_obj
def scale(tidemark: CliContext, seconds: float, check: bool, json: bool) -> None:
    """Measure what arrives and what is stored, and say whether to change workers or partitions.

    Counts Kafka messages, of workers on any machine. `down`: no worker runs, or none stores.
    """

    def show(left: float) -> None:
        if not json:
            click.echo(f"\rmeasuring, {left:3.0f} s left", nl=False, err=True)

    try:
        measured = measure(tidemark.settings, seconds, show)
    except NotMeasured as error:
        raise click.ClickException(str(error)) from None
    advice = advise(measured)
    if json:
        print_json(Report(advice, measured))
    else:
        click.echo("\r" + " " * 30 + "\r", nl=False, err=True)
        for line in report_lines(measured, advice):
            click.echo(line)
    if check and (code := EXIT_CODES[advice.change]):
        click.get_current_context().exit(code)


def report_lines(measured: LoadMeasurement, advice: Advice) -> list[str]:
    """The report for a person: workers, the partitions that are behind, the advice."""
    workers = format_table(
        ("worker", "machine", "partitions", "arrives/s", "stored/s", "waiting"),
        [
            (w.name, w.host, str(w.partitions), f"{w.arrival:g}", f"{w.drain:g}", str(w.lag))
            for w in measured.workers
        ],
    )
    behind = sorted((p for p in measured.partitions if p.lag), key=lambda p: -p.lag)
    partitions = format_table(
        ("partition", "read by", "arrives/s", "stored/s", "waiting"),
        [
            (
                f"{p.topic}/{p.partition}",
                p.worker or "–",
                f"{p.arrival:g}",
                f"{p.drain:g}",
                str(p.lag),
            )
            for p in behind[:SHOWN_PARTITIONS]
        ],
    )
    more = len(behind) - SHOWN_PARTITIONS
    return [
        f"Kafka messages within {measured.seconds:g} s; the oldest that waits is "
        f"{measured.lag_seconds:g} s old",
        "",
        *workers,
        *(["", *partitions] if behind else []),
        *([f"and {more} more partitions"] if more > 0 else []),
        "",
        advice.text,
        *([advice.effect] if advice.effect else []),
    ]
