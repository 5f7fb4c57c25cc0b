"""`tidemark scale`: how many workers and partitions the load needs, and to change the number."""

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
@click.argument("role", required=False, type=click.Choice(["worker"]))
@click.argument("number", required=False, type=click.IntRange(1, 1024))
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
def scale(
    tidemark: CliContext,
    role: str | None,
    number: int | None,
    seconds: float,
    check: bool,
    json: bool,
) -> None:
    """Measure the load and say how many workers it needs; `scale worker NUMBER` runs so many.

    Measures what arrives and what is stored, in Kafka messages, of workers on any machine. `down`:
    no worker runs, or none stores. `scale worker NUMBER` changes a running `tidemark up` until it
    ends; TIDEMARK_WORKERS is the number of the next start.
    """
    if role:
        _scale_workers(tidemark, number)
        return

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


def _scale_workers(tidemark: CliContext, number: int | None) -> None:
    from deploy.local.worker_count import CannotScale, scale_workers

    if number is None:
        raise click.UsageError("how many? for example: tidemark scale worker 2")
    try:
        workers = scale_workers(tidemark.settings, number)
    except (CannotScale, OSError) as error:
        raise click.ClickException(str(error)) from None
    names = ", ".join(worker.name for worker in workers)
    click.echo(f"{names}: ready. The next start has TIDEMARK_WORKERS={tidemark.settings.workers}.")


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
