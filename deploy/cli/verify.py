"""`tidemark verify`: what was received has an outcome, each once, and every file is whole."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deploy.cli.backup import show_on
from deploy.cli.context import CliContext, as_json, print_json, print_rows
from deploy.cli.progress_bar import ProgressBar
from schemas.runtime.clock import format_instant, parse_instant_ms
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.recovery.hourly_balance import LakeCounts
    from stream.recovery.offset_check import OffsetProblem

HOUR_COLUMNS = (
    *("hour", "topic", "subject", "received", "stored", "duplicate", "quarantined", "dropped"),
    "problem",
)
OFFSET_COLUMNS = ("topic", "epoch", "partition", "firstOffset", "nextOffset", "problem")
FILE_COLUMNS = ("path", "problem")
EXIT_FINDINGS = 1
SETTLE_SECONDS = 3.0
"""Between two counts: an hour that differs only once was being written."""


@click.command()
@click.option(
    "--since",
    metavar="DAY",
    type=click.DateTime(["%Y-%m-%d"]),
    help="First UTC day of receipt. Default: all that is stored.",
)
@as_json
@click.pass_context
def verify(context: click.Context, since: datetime | None, json: bool) -> None:
    """Compare acknowledged, received and stored items by website and hour; read every data file.

    Acknowledged = received = stored + duplicate + quarantined + dropped; no offset is missing or
    stored twice; every file is there and whole. Lists what differs, and changes nothing. Works
    whether or not Tidemark is running. Exit code 1 with findings.
    """
    from deploy.cli.backup import backup_errors
    from stream.recovery.file_check import check_data_files
    from stream.recovery.offset_check import missing_offsets, repeated_rows

    tidemark = context.find_object(CliContext)
    assert tidemark  # noqa: S101 - for the type checker
    tidemark.require_data_folder()
    settings, day, bar = tidemark.settings, f"{since:%Y-%m-%d}" if since else "", ProgressBar()
    received, notes = None, list[str]()
    hours: list[Mapping[str, Any]] = []
    offsets: list[OffsetProblem] = []
    with backup_errors():
        files = list(check_data_files(settings, day, show_on(bar)))
        if files:
            notes.append("items are not counted while files are damaged: tidemark doctor --repair")
        else:
            counts, hours = _differing_hours(settings, day)
            received = sum(entry.received for entry in counts.by_hour.values())
            hours += _never_received(settings, day, notes)
            for topic, main in counts.mains.items():
                offsets += repeated_rows(topic, main, day)
                if topic in counts.dropped_topics:
                    notes.append(f"{topic}: items were dropped on purpose, gaps are not looked for")
                else:
                    offsets += missing_offsets(topic, main, counts.quarantine, day)
    bar.end()
    findings = {
        "hours": hours,
        "offsets": [msgspec.to_builtins(problem) for problem in offsets],
        "files": [msgspec.to_builtins(problem) for problem in files],
    }
    if json:
        print_json({"received": received, **findings, "notes": notes})
    else:
        _print_findings(received, findings, notes)
    context.exit(EXIT_FINDINGS if any(findings.values()) else 0)


def _differing_hours(
    settings: Settings, since: str
) -> tuple["LakeCounts", list[Mapping[str, Any]]]:
    """The counts, and the hours that differ in two of them."""
    from stream.recovery.hourly_balance import count_items, lasting_differences

    counts = count_items(settings, since)
    if not any(any(entry.problems()) for entry in counts.by_hour.values()):
        return counts, []
    time.sleep(SETTLE_SECONDS)
    later = count_items(settings, since)
    return later, [
        {
            "hour": format_instant(hour),
            "topic": topic,
            "subject": subject or None,
            **{name: getattr(entry, name) for name in HOUR_COLUMNS[3:-1]},
            "problem": "; ".join(entry.problems()),
        }
        for (topic, subject, hour), entry in lasting_differences(counts.by_hour, later.by_hour)
    ]


def _never_received(
    settings: Settings, since: str, notes: list[str]
) -> Iterator[Mapping[str, Any]]:
    """Items that collectors of this machine acknowledged, and that no worker received."""
    from stream.recovery.reconciliation import LedgerUnreadable, WorkersBehind, missing_items

    try:
        missing = missing_items(settings, parse_instant_ms(since) if since else 0)
    except (WorkersBehind, LedgerUnreadable) as error:
        notes.append(f"acknowledged items were not compared: {error}")
        return
    for items in missing:
        for subject, count in items.by_subject.items():
            yield {
                "hour": format_instant(items.hour_ms),
                "topic": settings.topic(items.topic),
                "subject": subject or None,
                "problem": f"{count} acknowledged items were never received",
            }


def _print_findings(
    received: int | None, findings: Mapping[str, Sequence[Mapping[str, Any]]], notes: Sequence[str]
) -> None:
    tables = (("hours", HOUR_COLUMNS), ("offsets", OFFSET_COLUMNS), ("files", FILE_COLUMNS))
    for name, columns in tables:
        if findings[name]:
            print_rows(findings[name], columns, json=False)
            click.echo("")
    if received is not None and not any(findings.values()):
        click.echo(f"{received:,} received items have an outcome, each once; every file is whole")
    for note in notes:
        click.echo(f"note: {note}")
