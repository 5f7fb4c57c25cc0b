"""`tidemark scale`: how many workers and partitions the load needs, and to change the numbers."""

from collections.abc import Callable, Mapping

import click
from msgspec import Struct

from deploy.cli.context import CliContext, as_json, print_json
from deploy.local.process_list import SCALED_SPECS, Role
from deploy.local.scaling.advice import Advice, advise
from deploy.local.scaling.measurement import LoadMeasurement, NotMeasured, measure
from deploy.local.terminal import format_table
from schemas.runtime.settings import Settings

EXIT_CODES = {"none": 0, "workers": 1, "partitions": 1, "hot": 1, "start": 2, "stalled": 2}
SETTINGS: Mapping[Role, tuple[str, Callable[[Settings], int]]] = {
    "collector": ("TIDEMARK_COLLECTORS", lambda settings: settings.collectors),
    "worker": ("TIDEMARK_WORKERS", lambda settings: settings.workers),
    "query": ("TIDEMARK_QUERIES", lambda settings: settings.queries),
}
"""The variable with the number of the next start, and its value."""
SHOWN_PARTITIONS = 10
"""Partitions with the largest lag that the table lists; `--json` has all."""


class Report(Struct, frozen=True):
    """What `--json` prints."""

    advice: Advice
    measured: LoadMeasurement


@click.command()
@click.argument("role", required=False, type=click.Choice([*SCALED_SPECS]))
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
    role: Role | None,
    number: int | None,
    seconds: float,
    check: bool,
    json: bool,
) -> None:
    """Measure the load and say how many workers it needs; `scale worker NUMBER` runs so many.

    Measures what arrives and what is stored, in Kafka messages, of workers on any machine. `down`:
    no worker runs, or none stores. `scale ROLE NUMBER` changes a running `tidemark up` until it
    ends; TIDEMARK_COLLECTORS, _WORKERS and _QUERIES are the numbers of the next start.
    """
    if role:
        _scale(tidemark, role, number)
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


def _scale(tidemark: CliContext, role: Role, number: int | None) -> None:
    from deploy.local.process_control import CannotScale, scale_processes

    if number is None:
        raise click.UsageError(f"how many? for example: tidemark scale {role} 2")
    try:
        processes = scale_processes(tidemark.settings, role, number)
    except (CannotScale, OSError) as error:
        raise click.ClickException(str(error)) from None
    names = ", ".join(process.name for process in processes)
    variable, count = SETTINGS[role]
    click.echo(f"{names}: ready. The next start has {variable}={count(tidemark.settings)}.")


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
