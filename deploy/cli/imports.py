"""`tidemark import`: import historical events from files; list, show and undo imports."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deploy.cli.context import CliContext, as_json, print_record, print_rows, record_fields
from deploy.cli.import_file import (
    NothingAccepted,
    import_summary,
    run_dry,
    send_import,
    show_preview,
    wait_until_stored,
    warn_without_visits,
)
from deploy.cli.import_follow import follow
from deploy.cli.import_totals import import_totals
from deploy.cli.progress_bar import ProgressBar
from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.file_check import check_file
from deploy.importer.file_sources import local_file
from deploy.importer.import_records import ImportConflict, begin_or_resume
from deploy.importer.member_lines import FILE_FORMATS
from deploy.importer.sender import ImportSendFailed
from deploy.importer.source_file import SourceFile
from deploy.importer.stored_rows import count_rows
from deploy.importer.visitor_ids import blank_visitor, visitor_ids
from deploy.local.processes.process_file import read_processes_file
from schemas.lake.object_store import StoreUnreachable
from schemas.registry import Import, ImportState, RegistryStore, Website
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from deploy.importer.totals_file import Totals

IMPORT_COLUMNS = (
    "id",
    "websiteId",
    "name",
    "state",
    "accepted",
    "rejected",
    "removed",
    "createdAt",
)
POLL_INTERVAL_SECONDS = 0.5


class ImportGroup(click.Group):
    """Takes an argument that is no command as a file: `tidemark import visits.csv`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["file", *args]
        return super().parse_args(context, args)


@click.group("import", cls=ImportGroup, subcommand_metavar="FILE --website ID | COMMAND [ARGS]...")
def imports() -> None:
    """Import historical events from a file or export. See `tidemark import FILE --help`."""


@imports.command("file", options_metavar="--website ID [OPTIONS]")
@click.argument("source", metavar="FILE")
@click.option("--website", metavar="ID", help="Website that the events belong to.")
@click.option(
    "--map",
    "pairs",
    multiple=True,
    metavar="COLUMN=FIELD",
    help="Map a column to an event field; repeat for several.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(FILE_FORMATS),
    help="File format. Default: detected from the content.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Show what would be stored: product, kinds, days, rejected lines and the first events.",
)
@click.option("--dry-run", is_flag=True, help="Validate every line and send nothing.")
@click.option(
    "-f", "--follow", "follows", is_flag=True, help="Send lines of an access log as they come."
)
@click.option("--again", is_flag=True, help="Import the same file a second time.")
@click.option("--url", help="URL of the collector. Default: the one on this machine.")
@as_json
@click.pass_obj
def import_file(
    tidemark: CliContext,
    source: str,
    website: str | None,
    pairs: Sequence[str],
    format_: str | None,
    check: bool,
    dry_run: bool,
    follows: bool,
    again: bool,
    url: str | None,
    json: bool,
) -> None:
    """Import FILE: CSV, JSON lines, Parquet or an access log; plain, gzip, zstd or zip; a folder,
    an s3:// URL, or - for standard input. Run again, it resumes where it stopped. Daily totals of
    Plausible, Google Analytics, Fathom and Matomo are stored as totals.
    """
    overrides = _parse_mapping(pairs)
    if website is None and not check:
        raise click.UsageError("--website is required, except with --check")
    if follows and (check or dry_run or again or json):
        raise click.UsageError("--follow takes --website, --map and --url only")
    from deploy.importer.preview import preview, preview_totals  # with the collector's decoder

    try:
        if follows:
            with tidemark.open_registry() as store:
                owner = store.get(Website, str(website))
                return follow(tidemark.settings, store, owner, Path(source), overrides, url)
        with local_file(source) as (path, rejects):
            opened = SourceFile(path, format_, rejects)
            if totals := _read_totals(opened, overrides):
                if check:
                    return show_preview(opened, preview_totals(opened, totals), json)
                return import_totals(tidemark, opened, totals, str(website), dry_run, again, json)
            if check:
                mapper = ColumnMapper(overrides, visitor_of=blank_visitor)
                check_file(opened, mapper)
                return show_preview(opened, preview(opened, mapper), json)
            return _import(tidemark, opened, overrides, str(website), dry_run, again, url, json)
    except (
        InvalidFile,
        InvalidMapping,
        ImportConflict,
        ImportSendFailed,
        NothingAccepted,
        StoreUnreachable,
    ) as error:
        raise click.ClickException(str(error)) from None


def _read_totals(opened: SourceFile, overrides: Mapping[str, str]) -> "Totals | None":
    """The totals of a file; None for events. `--map` says that the lines are events."""
    from deploy.importer.totals_file import read_totals  # with the table format

    return None if overrides else read_totals(opened)


def _import(
    tidemark: CliContext,
    opened: SourceFile,
    overrides: Mapping[str, str],
    website: str,
    dry_run: bool,
    again: bool,
    url: str | None,
    json: bool,
) -> None:
    """Check, send and wait until all is stored; with `dry_run` validate only."""
    settings = tidemark.settings
    with tidemark.open_registry() as store:
        owner = store.get(Website, website)
        mapper = ColumnMapper(overrides, visitor_ids(store, owner))
        check_file(opened, mapper)
        if dry_run:
            at = run_dry(opened, mapper, owner)
            warn_without_visits(mapper)
            return print_record(import_summary(at, mapper, opened), json)
        record = begin_or_resume(store, owner, opened, again)
        at = send_import(settings, store, record, opened, mapper, url)
    warn_without_visits(mapper)
    rows = wait_until_stored(settings, record, at)
    print_record(import_summary(at, mapper, opened, id=record.id, stored=rows), json)
    return None


@imports.command("list")
@click.option("--website", metavar="ID", help="Only imports of this website.")
@as_json
@click.pass_obj
def list_imports(tidemark: CliContext, website: str | None, json: bool) -> None:
    """List imports, oldest first."""
    with tidemark.open_registry() as store:
        records = store.list(Import, website_id=website)
    print_rows([record_fields(record) for record in records], IMPORT_COLUMNS, json)


@imports.command("show")
@click.argument("record_id", metavar="ID")
@as_json
@click.pass_obj
def show_import(tidemark: CliContext, record_id: str, json: bool) -> None:
    """Show one import, with the number of stored rows."""
    with tidemark.open_registry() as store:
        record = store.get(Import, record_id)
    print_record(record_fields(record, stored=count_rows(tidemark.settings, record)), json)


@imports.command("close")
@click.argument("record_id", metavar="ID")
@as_json
@click.pass_obj
def close_import(tidemark: CliContext, record_id: str, json: bool) -> None:
    """Close an import: clients of other products add no more history to it. Its rows stay."""
    with tidemark.open_registry() as store:
        record = store.get(Import, record_id)
        if record.state is ImportState.OPEN:
            record = store.update(Import, record_id, now_ms(), state=ImportState.DONE)
    print_record(record_fields(record), json)


@imports.command("undo")
@click.argument("record_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Skip the confirmation (never asked without a terminal).")
@as_json
@click.pass_obj
def undo_import(tidemark: CliContext, record_id: str, yes: bool, json: bool) -> None:
    """Undo an import: remove exactly its rows, in one commit."""
    with tidemark.open_registry() as store:
        record = store.get(Import, record_id)
        if not yes and sys.stdin.isatty():
            click.confirm(f"Remove every row of '{record.name}' ({record.id})?", abort=True)
        if record.can_be_undone:
            store.update(Import, record.id, now_ms(), state=ImportState.UNDOING)
        print_record(record_fields(_wait_until_removed(tidemark.settings, store, record.id)), json)


def _wait_until_removed(settings: Settings, store: RegistryStore, import_id: str) -> Import:
    """The import once the keeper has removed its rows; its current state when no keeper runs."""
    bar = ProgressBar()
    while (record := store.get(Import, import_id)).state is not ImportState.UNDONE:
        if read_processes_file(settings.data) is None:
            bar.end("Tidemark is not running; the keeper removes the rows after the next start")
            return record
        bar.show(
            f"removing {record.removed:,} rows" if record.removed else "waiting for the keeper"
        )
        time.sleep(POLL_INTERVAL_SECONDS)
    bar.end()
    return record


def _parse_mapping(pairs: Sequence[str]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    if wrong := [pair for pair, (_, sign, _) in zip(pairs, split, strict=True) if not sign]:
        raise click.UsageError(f"--map {wrong[0]}: write COLUMN=FIELD")
    return {column: field for column, _, field in split}
