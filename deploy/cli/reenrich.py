"""`tidemark reenrich`: apply the current enrichment rules to stored rows."""

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from deploy.cli.context import CliContext, as_json, print_json
from deploy.cli.progress_bar import ProgressBar
from schemas.lake.committed_offsets import SNAPSHOT_MAX_AGE_SECONDS
from schemas.registry import RegistryStore, Website

if TYPE_CHECKING:
    from stream.enrich.rules.lookups import Lookups
    from stream.maintenance.re_enrichment import ColumnChanges, ReEnrichedDay

DAY_PARAM = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.option(
    "--from",
    "first",
    type=DAY_PARAM,
    required=True,
    help="First day (UTC) on which the rows were received.",
)
@click.option("--to", "last", type=DAY_PARAM, required=True, help="Last day, inclusive.")
@click.option("--website", metavar="ID", help="Only rows of this website.")
@click.option("--dry-run", is_flag=True, help="Show what would change without changing it.")
@as_json
@click.pass_obj
def reenrich(
    tidemark: CliContext,
    first: datetime,
    last: datetime,
    website: str | None,
    dry_run: bool,
    json: bool,
) -> None:
    """Re-enrich rows stored under older rules, one day per commit; queries keep working.

    Resumable: run it again after an interruption.
    """
    from schemas.lake.delta_table import UnreadableTable  # with the table format
    from stream.maintenance.re_enrichment import (  # with all parsers
        ColumnChanges,
        ReEnrichmentOptions,
        re_enrich,
    )
    from stream.maintenance.verification import DamagedFileError

    if last < first:
        raise click.UsageError(f"--to {last.date()} is before --from {first.date()}")
    options = ReEnrichmentOptions(first.date(), last.date(), website, dry_run)
    with tidemark.open_registry() as store:
        if website is not None:
            store.get(Website, website)
        bar, changes, rows, seen = ProgressBar(), ColumnChanges({}), 0, 0

        def report(more: int) -> None:
            nonlocal seen
            seen += more
            bar.show(f"{seen:,} rows read")

        days = []
        try:
            for done in re_enrich(tidemark.settings, _lookups(store), options, report):
                days.append(done)
                changes.add(done.changes)
                rows += done.rows
        except (DamagedFileError, UnreadableTable) as error:
            raise click.ClickException(f"{error}; run tidemark doctor") from None
        bar.end()
    if rows and not dry_run:
        time.sleep(SNAPSHOT_MAX_AGE_SECONDS)
    if json:
        return print_json([_day_report(day) for day in days])
    _print_changes(rows, changes, dry_run)
    return None


def _lookups(store: RegistryStore) -> "Lookups":
    from stream.enrich.rules.lookups import Lookups

    domains = {website.id: website.domain for website in store.list(Website)}
    return Lookups(domain_of=domains.get)


def _day_report(day: "ReEnrichedDay") -> dict[str, Any]:
    return {
        "table": day.table,
        "day": day.day.isoformat(),
        "rows": day.rows,
        "changes": {
            column: {
                "rows": day.changes.rows(column),
                "examples": [
                    {"old": before, "new": after, "rows": rows}
                    for before, after, rows in day.changes.examples(column)
                ],
            }
            for column in sorted(day.changes.values)
        },
    }


def _print_changes(rows: int, changes: "ColumnChanges", dry_run: bool) -> None:
    for column in sorted(changes.values):
        click.echo(f"{column}: {changes.rows(column):,} rows")
        for before, after, count in changes.examples(column):
            click.echo(f"    {before} → {after}  ({count:,})")
    verb = "would change" if dry_run else "changed"
    count = len(changes.values)
    named = f"{count} column{'s' * (count > 1)} {verb}, in the rows named above"
    click.echo(f"{rows:,} rows processed; {named if count else f'nothing {verb}'}")
