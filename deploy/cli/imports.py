"""`tidemark import`: history from files, listed, looked at, and taken back."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from deploy.cli.context import Tidemark, as_json, print_record, print_rows, shown
from deploy.cli.import_file import NothingAccepted, judged, sent, stored, told
from deploy.cli.progress_bar import Bar
from deploy.importer.column_mapping import BadMapping, Mapper
from deploy.importer.file_check import check
from deploy.importer.import_records import AlreadyThere, begun
from deploy.importer.sender import NotSent
from deploy.importer.source_file import FORMATS, BadFile, File
from deploy.importer.stored_rows import rows_of
from deploy.local.processes.process_file import read_account
from schemas.registry import Import, ImportState, Store, Website
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

COLUMNS = ("id", "websiteId", "name", "state", "accepted", "rejected", "removed", "createdAt")
LOOK_SECONDS = 0.5


class FileOrCommand(click.Group):
    """What is no command is a file: `tidemark import visits.csv`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["file", *args]
        return super().parse_args(context, args)


@click.group(
    "import", cls=FileOrCommand, subcommand_metavar="FILE --website ID | COMMAND [ARGS]..."
)
def imports() -> None:
    """Events of the past from a FILE, CSV or NDJSON; `tidemark import FILE --help` tells more."""


@imports.command("file", options_metavar="--website ID [OPTIONS]")
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--website", required=True, metavar="ID", help="Whose history it is.")
@click.option("--map", "pairs", multiple=True, metavar="COLUMN=FIELD", help="What a column holds.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="By its beginning if absent.")
@click.option("--dry-run", is_flag=True, help="Read and judge every line, send nothing.")
@click.option("--again", is_flag=True, help="Import a file once more that was imported before.")
@click.option("--url", help="Address of the collector; this machine's when not given.")
@as_json
@click.pass_obj
def file(
    tidemark: Tidemark,
    path: Path,
    website: str,
    pairs: Sequence[str],
    format_: str | None,
    dry_run: bool,
    again: bool,
    url: str | None,
    json: bool,
) -> None:
    """Import CSV or NDJSON, packed with gzip or not; a second time it goes on where it stopped."""
    settings = tidemark.settings
    with tidemark.store() as store:
        owner = store.get(Website, website)
        try:
            opened, mapper = File(path, format_), Mapper(_pairs(pairs))
            check(opened, mapper)
            if dry_run:
                at = judged(opened, mapper, owner)
                return print_record(told(at, mapper, path), json)
            one = begun(store, owner, opened, again)
            at = sent(settings, store, one, opened, mapper, url)
        except (BadFile, BadMapping, AlreadyThere, NotSent, NothingAccepted) as refused:
            raise click.ClickException(str(refused)) from None
    rows = stored(settings, one, at)
    print_record(told(at, mapper, path, id=one.id, stored=rows), json)
    return None


@imports.command("list")
@click.option("--website", metavar="ID", help="Only those of this website.")
@as_json
@click.pass_obj
def listed(tidemark: Tidemark, website: str | None, json: bool) -> None:
    """List imports, oldest first."""
    with tidemark.store() as store:
        records = store.list(Import, website_id=website)
    print_rows([shown(record) for record in records], COLUMNS, json)


@imports.command()
@click.argument("record_id", metavar="ID")
@as_json
@click.pass_obj
def show(tidemark: Tidemark, record_id: str, json: bool) -> None:
    """Show one import, and how many rows of it are stored."""
    with tidemark.store() as store:
        one = store.get(Import, record_id)
    print_record(shown(one, stored=rows_of(tidemark.settings, one)), json)


@imports.command()
@click.argument("record_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask; nobody is asked without a terminal.")
@as_json
@click.pass_obj
def undo(tidemark: Tidemark, record_id: str, yes: bool, json: bool) -> None:
    """Take an import back: exactly its rows leave the table, at one moment."""
    with tidemark.store() as store:
        one = store.get(Import, record_id)
        if not yes and sys.stdin.isatty():
            click.confirm(f"Remove every row of '{one.name}' ({one.id})?", abort=True)
        if one.takes:
            store.update(Import, one.id, now_ms(), state=ImportState.UNDOING)
        print_record(shown(_undone(tidemark.settings, store, one.id)), json)


def _undone(settings: Settings, store: Store, import_id: str) -> Import:
    """The import once the keeper has removed its rows; as it is now when no keeper runs."""
    bar = Bar()
    while (one := store.get(Import, import_id)).state is not ImportState.UNDONE:
        if read_account(settings.data) is None:
            bar.end("nothing runs here; the keeper removes the rows when it does")
            return one
        bar.show(f"removing {one.removed:,} rows" if one.removed else "waiting for the keeper")
        time.sleep(LOOK_SECONDS)
    bar.end()
    return one


def _pairs(pairs: Sequence[str]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    if wrong := [pair for pair, (_, sign, _) in zip(pairs, split, strict=True) if not sign]:
        raise click.UsageError(f"--map {wrong[0]}: write COLUMN=FIELD")
    return {column: field for column, _, field in split}
