"""`tidemark retention`: the days to keep, and which rows are due; the keeper deletes them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import click
from msgspec import structs

from deploy.cli.context import CliContext, as_json, print_rows
from deploy.cli.record_commands import keep_days_option
from schemas.kinds import AGING_TABLES
from schemas.registry import Link, RegistryStore, Website
from schemas.registry.keep_days import midnight_ms_before
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings

COLUMNS = ("owner", "table", "keepDays", "keptFrom", "dueRows", "dueBytes")


@click.command()
@click.option("--website", metavar="ID", help="Only this website.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only list what is due, which this command always does: the keeper deletes.",
)
@keep_days_option
@as_json
@click.pass_obj
def retention(
    tidemark: CliContext,
    /,
    website: str | None,
    dry_run: bool,  # noqa: ARG001 - says what the command does anyway
    keep_days: dict[str, int] | None,
    json: bool,
) -> None:
    """List the days to keep and the rows that are due, by owner and table.

    Owners are websites, organizations (of the clicks on their links) and what was deleted for good.
    With --keep-days: what would be due if --website had these days.
    """
    if keep_days is not None and website is None:
        raise click.UsageError("--keep-days needs --website; nothing is changed, only counted")
    with tidemark.open_registry() as store:
        if website is not None:
            store.get(Website, website)
        rows = [
            row
            for row in _due_rows(store, tidemark.settings, website, keep_days)
            if website in (None, row["owner"])
        ]
    print_rows(rows, COLUMNS, json)


def _due_rows(
    store: RegistryStore, settings: Settings, website: str | None, preview: dict[str, int] | None
) -> Iterator[dict[str, Any]]:
    """A row for each owner and table that has days to keep, or due rows."""
    from stream.maintenance.expiry import due_rows  # with the table format
    from stream.maintenance.retention import read_due
    from stream.storage.table_reader import TableReader

    at_ms = now_ms()
    due = read_due(store, settings, at_ms)
    if website is not None and preview is not None:
        _, *of_owner = due.days.by_subject[website]
        by_subject = {**due.days.by_subject, website: (preview, *of_owner)}
        due = structs.replace(due, days=structs.replace(due.days, by_subject=by_subject))
    owners = _owners(store)
    purged = {subject: gone.id for gone in due.deletions for subject in gone.subjects}
    for aging in AGING_TABLES:
        subjects = _subjects_of(store, aging.subject_column)
        days = {owners[name]: due.days.days(aging, name) for name in subjects}
        counts, sizes = Counter[str](), Counter[str]()
        if (table := TableReader.open(settings, aging)) is not None:
            for expiry in due.expiries(aging, at_ms):
                for name, found in due_rows(table, expiry).items():
                    owner = owners.get(name or "") or purged.get(name or "") or str(name)
                    counts[owner] += found.rows
                    sizes[owner] += found.bytes
        for owner in {**days, **counts}:
            kept = days.get(owner)
            if kept is None and not counts[owner]:
                continue
            kept_ms = None if kept is None else midnight_ms_before(kept, at_ms)
            yield {
                "owner": owner,
                "table": aging.name,
                "keepDays": kept,
                "keptFrom": None if kept_ms is None else str(format_instant(kept_ms))[:10],
                "dueRows": counts[owner],
                "dueBytes": sizes[owner],
            }


def _owners(store: RegistryStore) -> Mapping[str, str]:
    """The website of each website, the organization of each link."""
    return {
        **{website.id: website.id for website in store.list(Website)},
        **{link.id: link.organization_id for link in store.list(Link)},
    }


def _subjects_of(store: RegistryStore, subject_column: str) -> list[str]:
    """The websites, or the links, whose rows a table has."""
    kind = Link if subject_column == "link_id" else Website
    return [record.id for record in store.list(kind)]
