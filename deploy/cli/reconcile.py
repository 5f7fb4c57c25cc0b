"""`tidemark reconcile`: totals of another product beside what is stored for the website."""

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_json, print_rows
from deploy.cli.query_options import client_errors, make_client, service_options
from deploy.importer.column_mapping import InvalidMapping
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.file_sources import local_file
from deploy.importer.source_file import SourceFile
from schemas.registry import Import, ImportState, Website

if TYPE_CHECKING:
    from deploy.importer.reconciliation import Counts, Explanations
    from deploy.importer.totals_file import Totals

MAX_DAYS = 366
MAX_ROWS = 1_000
SHOWN_VALUES = 20
"""Pages and sources that are printed, without --json."""
COLUMNS = (*("kind", "value", "count", "theirs", "ours", "difference", "percent", "explainedBy"),)

ACTIVE_VISITS = {
    "table": "events",
    "selects": [{"field": "session_id", "aggregate": "uniq", "alias": "visits"}],
    "filters": [{"field": "name", "operator": "in", "value": ["screen_view", "pageview"]}],
    "groupBy": ["time:daily"],
}
"""Visits of each day, those that began the day before included."""


@click.command()
@click.argument("source", metavar="FILE")
@click.argument("website")
@click.option("--from", "first", type=click.DateTime(["%Y-%m-%d"]), help="First day.")
@click.option("--to", "last", type=click.DateTime(["%Y-%m-%d"]), help="Last day (inclusive).")
@click.option(
    "--zone", metavar="NAME", help="Time zone of the days of FILE. Default: the website's."
)
@service_options
@as_json
@click.pass_obj
def reconcile(
    tidemark: CliContext,
    /,
    source: str,
    website: str,
    first: dt.datetime | None,
    last: dt.datetime | None,
    zone: str | None,
    json: bool,
    **options: Any,
) -> None:
    """Compare the totals of another product in FILE with what is stored for WEBSITE.

    \b
    tidemark reconcile plausible.zip web_… --from 2026-11-01 --to 2026-11-30

    FILE is what `tidemark import` takes as totals; nothing is imported. Days, pages and sources
    are compared with stored events, live and imported, bots left out. Each difference names what
    explains it: bots, another time zone, days without data; below are visits over midnight and
    lines that imports rejected. Needs a key with `read:data` (default: the demo's).
    """
    from deploy.importer.reconciliation import METRICS, compare, counts_by, theirs_of

    totals = _read(source)
    since, until = _time_range(totals, first, last)
    with tidemark.open_registry() as store:
        owner = store.get(Website, website)
        rejected = sum(
            record.rejected
            for record in store.list(Import, website_id=owner.id)
            if record.state in (ImportState.OPEN, ImportState.DONE)
        )
    client = make_client(tidemark, options)

    def ask(by: str, in_zone: str, with_bots: bool) -> "Counts":
        asked: dict[str, Any] = {"website_id": owner.id, "timezone": in_zone, "limit": MAX_ROWS}
        asked |= {"start": since.isoformat(), "end": until.isoformat()}
        rows = client.metrics([*METRICS], by, include_bots=with_bots or None, **asked)
        return counts_by(rows, by)

    zones = list(dict.fromkeys((zone or owner.timezone, owner.timezone, "UTC")))
    with client_errors():
        active = client.custom(
            ACTIVE_VISITS,
            website_id=owner.id,
            timezone=zones[0],
            start=since.isoformat(),
            end=until.isoformat(),
            limit=MAX_ROWS,
        )
        rows, explanations = compare(
            theirs_of(totals, since, until),
            zones,
            ask,
            {str(row["date"])[:10]: row["visits"] for row in active},
        )
    explanations = msgspec.structs.replace(explanations, rejected_lines=rejected)
    if json:
        return print_json(
            {
                "product": totals.report.product,
                "from": since.isoformat(),
                "to": until.isoformat(),
                "timezone": zones[0],
                "rows": rows,
                "explanations": explanations,
            }
        )
    shown: list[dict[str, Any]] = []
    for kind in dict.fromkeys(row.kind for row in rows):
        of_kind = [msgspec.to_builtins(row) for row in rows if row.kind == kind]
        shown += of_kind if kind == "day" else of_kind[:SHOWN_VALUES]
    print_rows(shown, COLUMNS, json=False)
    for sentence in sentences(explanations, zones):
        click.echo(sentence)
    return None


def _read(source: str) -> "Totals":
    from deploy.importer.totals_file import read_totals

    try:
        with local_file(source) as (path, rejects):
            totals = read_totals(SourceFile(path, rejects=rejects))
    except (InvalidFile, InvalidMapping) as error:
        raise click.ClickException(str(error)) from None
    if totals is None:
        raise click.ClickException(
            f"{source} has no totals of a known report; `tidemark import FILE --check` shows "
            "what it is"
        )
    return totals


def _time_range(
    totals: "Totals", first: dt.datetime | None, last: dt.datetime | None
) -> tuple[dt.date, dt.date]:
    """The days to compare: those of the options, else all of the file up to a year."""
    days = [at.date() for at in totals.rows["ts"].to_pylist()]
    until = last.date() if last else max(days)
    since = first.date() if first else max(min(days), until - dt.timedelta(days=MAX_DAYS - 1))
    if since > until or until < min(days) or since > max(days):
        raise click.UsageError(
            f"the file has the days {min(days)} to {max(days)}, and none from {since} to {until}"
        )
    if (until - since).days >= MAX_DAYS:
        raise click.UsageError(f"--from and --to span more than {MAX_DAYS} days")
    return since, until


def sentences(found: "Explanations", zones: Sequence[str]) -> list[str]:
    """The explanations of all days, as they are printed."""
    text = []
    if len(found.differences_by_zone) > 1:
        best = min(found.differences_by_zone.items(), key=lambda item: item[1])
        used = found.differences_by_zone[zones[0]]
        text.append(
            f"time zone: the days differ by {used:,} in {zones[0]}"
            + (f", by {best[1]:,} in {best[0]}" if best[1] < used else ", and by more in others")
        )
    if found.bot_page_views:
        text.append(f"bots: {found.bot_page_views:,} page views of bots are left out")
    if found.visits_over_midnight:
        text.append(
            f"midnight: {found.visits_over_midnight:,} visits went on after it; they count on the "
            "day on which they began"
        )
    if found.rejected_lines:
        text.append(f"imports: {found.rejected_lines:,} lines were rejected, and are not stored")
    if days := found.days_without_data:
        text.append(f"days without data: {len(days):,}, the first {days[0]}, the last {days[-1]}")
    return text
