"""`tidemark import` of a file of totals, which are stored in one commit."""

from typing import TYPE_CHECKING, Any

from deploy.cli.context import CliContext, print_record
from deploy.cli.import_file import first_files
from deploy.importer.import_records import begin_or_resume
from deploy.importer.rejects_file import RejectsFile
from deploy.importer.source_file import SourceFile
from schemas.registry import Import, ImportState, Website
from schemas.runtime.clock import now_ms

if TYPE_CHECKING:
    from deploy.importer.totals_file import Totals


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
    from deploy.importer.totals_import import store_import  # with the table format

    summary = {"product": totals.report.product, "kind": "totals", "rows": totals.rows.num_rows}
    with tidemark.open_registry() as store:
        owner = store.get(Website, website)
        _write_rejects(opened, totals)
        if dry_run:
            return print_record({**summary, **_counts(opened, totals)}, json)
        record = begin_or_resume(store, owner, opened, again)
        store_import(tidemark.settings, store, record, totals)
        store.update(Import, record.id, now_ms(), state=ImportState.DONE)
    print_record({"id": record.id, **summary, **_counts(opened, totals)}, json)
    return None


def _counts(opened: SourceFile, totals: "Totals") -> dict[str, Any]:
    counts: dict[str, Any] = {"accepted": totals.lines, "rejected": len(totals.rejects)}
    if totals.rejects:
        counts["rejects"] = str(opened.rejects)
    if opened.left_out:
        counts["filesLeftOut"] = first_files(opened.left_out)
    if totals.left_out:
        counts["valuesLeftOut"] = dict(totals.left_out)
    return counts


def _write_rejects(opened: SourceFile, totals: "Totals") -> None:
    rejects = RejectsFile(opened.rejects)
    rejects.write([*totals.rejects])
    rejects.close()
