"""`tidemark import` of a file of totals: shows them, or stores them in one commit."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deploy.cli.context import CliContext, print_record
from deploy.cli.import_file import show_counts
from deploy.importer.import_records import (
    ImportConflict,
    begin_or_resume,
    exclusive_import,
    save_progress,
)
from deploy.importer.import_run import ImportProgress
from deploy.importer.preview import SHOWN_ROWS
from deploy.importer.rejects_file import RejectsFile
from deploy.importer.source_file import SourceFile
from schemas.registry import Import, ImportState, Website
from schemas.runtime.clock import now_ms

if TYPE_CHECKING:
    from deploy.importer.totals.totals_file import Totals

WHOLE = "(whole website)"


def import_totals(
    tidemark: CliContext,
    opened: SourceFile,
    totals: "Totals",
    website: str,
    dry_run: bool,
    again: bool,
    json: bool,
) -> None:
    """Store the totals of a file, all or nothing; with `dry_run` only say what there is.

    A run that was killed is repeated with the same import, whose rows are stored once.
    """
    from deploy.importer.totals.totals_file import with_owner
    from stream.runtime.errors import Fenced
    from stream.writing.imported_totals import store_totals

    settings, at = tidemark.settings, ImportProgress(0, totals.lines, len(totals.rejects))
    summary = {"product": totals.report.product, "kind": "totals", "rows": totals.rows.num_rows}
    with tidemark.open_registry() as store:
        owner = store.get(Website, website)
        _write_rejects(opened, totals)
        if dry_run:
            return print_record({**summary, **_counts(opened, totals)}, json)
        record = begin_or_resume(store, owner, opened, again)
        with exclusive_import(settings, record):
            rows = with_owner(totals, owner.id, record.id, now_ms())
            try:
                store_totals(settings, record.id, rows)
            except Fenced:
                raise ImportConflict(f"{record.id} was undone meanwhile; run it again") from None
            save_progress(store, record, at)
            store.update(Import, record.id, now_ms(), state=ImportState.DONE)
    print_record({"id": record.id, **summary, **_counts(opened, totals)}, json)
    return None


def show_totals(opened: SourceFile, totals: "Totals", is_json: bool) -> None:
    """Print what an import of the file would store."""
    rows = totals.rows.to_pylist()
    dimensions = Counter(row["dimension"] or WHOLE for row in rows)
    days = Counter(row["ts"].date().isoformat() for row in rows)
    reasons = Counter(reject.reason for reject in totals.rejects)
    shown = [_shown(row) for row in rows[:SHOWN_ROWS]]
    if is_json:
        found = {
            "product": totals.report.product,
            "kind": "totals",
            "recognizedBy": totals.columns,
            "note": totals.report.note,
            "files": len(opened.members),
            "lines": totals.lines,
            "rejected": len(totals.rejects),
            "reasons": dict(reasons.most_common()),
            "rowsByDimension": dict(sorted(dimensions.items())),
            "days": dict(sorted(days.items())),
            "valuesLeftOut": totals.left_out,
            "rows": shown,
        }
        return click.echo(msgspec.json.encode(found).decode())
    click.echo(f"{opened.path.name}: totals of {totals.report.product}, no single events")
    click.echo(f"  recognized by {', '.join(totals.columns)}")
    if totals.report.note:
        click.echo(f"  note: {totals.report.note}")
    for column, count in totals.left_out.items():
        click.echo(f"  {column}: {count:,} values cannot be read and are left out")
    show_counts(f"{len(rows):,} rows by dimension", dict(sorted(dimensions.items())))
    show_counts(f"{len(days):,} days", dict(sorted(days.items())))
    show_counts(f"{len(totals.rejects):,} lines have no totals", dict(reasons.most_common()))
    click.echo(f"\nthe first {len(shown)} rows")
    for row in shown:
        click.echo(f"  {msgspec.json.encode(row).decode()}")
    return None


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the counts that it does not have."""
    found = {name: value for name, value in row.items() if value is not None and name != "ts"}
    return {"day": row["ts"].date().isoformat(), **found}


def _counts(opened: SourceFile, totals: "Totals") -> dict[str, Any]:
    counts: dict[str, Any] = {"accepted": totals.lines, "rejected": len(totals.rejects)}
    if totals.rejects:
        counts["rejects"] = str(opened.rejects)
    if totals.left_out:
        counts["valuesLeftOut"] = dict(totals.left_out)
    return counts


def _write_rejects(opened: SourceFile, totals: "Totals") -> None:
    rejects = RejectsFile(opened.rejects)
    rejects.write([*totals.rejects])
    rejects.close()
