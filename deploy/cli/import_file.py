"""Runs one import (or a dry run) with progress and resume hints."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deploy.cli.progress_bar import ProgressBar
from deploy.importer.column_mapping import ColumnMapper
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.import_records import (
    exclusive_import,
    save_progress,
    saved_progress,
    temporary_key,
)
from deploy.importer.import_run import ImportProgress, run_import
from deploy.importer.rejects_file import RejectsFile
from deploy.importer.sender import CollectorClient, ImportSendFailed
from deploy.importer.source_file import SourceFile
from deploy.importer.stored_rows import poll_stored_rows
from deploy.local.processes.process_file import read_processes_file
from schemas.registry import Import, ImportState, RegistryStore, Website
from schemas.runtime.clock import now_ms
from schemas.runtime.service_urls import collector_url
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from deploy.importer.preview import Preview

NO_VISITS = (
    "no column has sessions, so no event belongs to a visit; name one: --map COLUMN=sessionId"
)
NOTHING_ACCEPTED = "no event of {} was accepted; {:,} lines were rejected"
RESUME_HINT = "run the same command again to resume, or `tidemark import undo {}` to remove it"
STOPPED_MESSAGE = f"stopped; {RESUME_HINT}"
ALL_SENT_MESSAGE = (
    "stopped; all lines were sent. `tidemark import show {}` shows how many are stored"
)


SHOWN_COUNTS = 20


class NothingAccepted(Exception):
    """No line of the file was accepted; the message has the reason of the first reject."""


def run_dry(opened: SourceFile, mapper: ColumnMapper, website: Website) -> ImportProgress:
    """Validate every line as the collector would."""
    from deploy.importer.dry_run import dry_run_sender

    bar, at = ProgressBar(), ImportProgress()
    rejects = RejectsFile(opened.rejects)
    for at in run_import(opened, mapper, ImportProgress(), dry_run_sender(website), rejects):
        bar.show(f"{opened.fraction_read:4.0%}  {at.accepted:,} valid, {at.rejected:,} invalid")
    bar.end()
    rejects.close()
    _require_accepted(opened, at, rejects)
    return at


def send_import(
    settings: Settings,
    store: RegistryStore,
    record: Import,
    opened: SourceFile,
    mapper: ColumnMapper,
    url: str | None,
) -> ImportProgress:
    """Send the remaining lines; an import without an accepted line is undone."""
    bar, at = ProgressBar(), saved_progress(record)
    with (
        exclusive_import(settings, record),
        temporary_key(store, record) as key,
        _interruptible(record, STOPPED_MESSAGE, bar),
    ):
        rejects = RejectsFile(opened.rejects, at.lines)
        sender = CollectorClient(url or collector_url(settings), key, record.id, bar.print_line)
        try:
            for at in run_import(opened, mapper, saved_progress(record), sender.send, rejects):
                save_progress(store, record, at)
                bar.show(
                    f"{opened.fraction_read:4.0%}  {at.accepted:,} sent, {at.rejected:,} rejected"
                )
        except ImportSendFailed as error:
            raise ImportSendFailed(f"{error}; {RESUME_HINT.format(record.id)}") from None
        except InvalidFile as error:
            raise InvalidFile(
                f"{error}; `tidemark import undo {record.id}` removes what was sent"
            ) from None
        finally:
            sender.close()
            rejects.close()
            bar.end()
    # Undone rather than deleted: a run that was killed may have sent lines without recording them.
    state = ImportState.DONE if at.accepted else ImportState.UNDOING
    store.update(Import, record.id, now_ms(), state=state)
    _require_accepted(opened, at, rejects)
    return at


def wait_until_stored(settings: Settings, record: Import, at: ImportProgress) -> int | None:
    """Rows in the table, once all sent lines are stored; None when Tidemark is not running."""
    if read_processes_file(settings.data) is None:
        return None
    bar, rows = ProgressBar(), 0
    with _interruptible(record, ALL_SENT_MESSAGE, bar):
        for stored in poll_stored_rows(settings, record, now_ms()):
            rows = stored.rows
            bar.show(f"{rows:,} of {at.accepted:,} stored")
    bar.end()
    return rows


def warn_without_visits(mapper: ColumnMapper) -> None:
    """Say on the standard error that the events of a file belong to no visit."""
    if mapper.mapped and "sessionId" not in mapper.mapped.values():
        click.echo(f"tidemark: {NO_VISITS}", err=True)


def import_summary(
    at: ImportProgress, mapper: ColumnMapper, opened: SourceFile, **more: Any
) -> dict[str, Any]:
    """The result of an import, as printed."""
    summary = {**more, "accepted": at.accepted, "rejected": at.rejected}
    if mapper.mapped:
        summary["columns"] = mapper.mapped
    if at.rejected:
        summary["rejects"] = str(opened.rejects)
    if opened.left_out:
        summary["filesLeftOut"] = first_files(opened.left_out)
    if mapper.ignored:
        summary["ignoredColumns"] = sorted(mapper.ignored)
    if mapper.skipped_values:
        summary["factsLeftOut"] = dict(mapper.skipped_values)
    return summary


def show_preview(opened: SourceFile, found: "Preview", is_json: bool) -> None:
    """Print what an import of the file would store."""
    if is_json:
        return click.echo(msgspec.json.encode(found).decode())
    is_totals = found.kind == "totals"
    click.echo(f"{opened.path.name}: {'daily totals of ' if is_totals else ''}{found.product}")
    if found.recognized_by:
        click.echo(f"  recognized by {', '.join(found.recognized_by)}")
    if found.note:
        click.echo(f"  note: {found.note}")
    show_files_left_out(found.files_left_out)
    for column, field in found.columns.items():
        click.echo(f"  {column} is read as {field}")
    if found.ignored_columns:
        click.echo(f"  not read: {', '.join(found.ignored_columns)}")
    for field, count in found.facts_left_out.items():
        click.echo(f"  {field}: {count:,} values cannot be read and are left out")
    rows = "rows" if is_totals else "events"
    count = sum(found.names.values())
    show_counts(f"{count:,} {rows}{' by dimension' if is_totals else ''}", found.names)
    show_counts(f"{len(found.days):,} days", found.days)
    invalid = "have no totals" if is_totals else "are no events or invalid"
    show_counts(f"{found.rejected:,} lines {invalid}", found.reasons)
    click.echo(f"\nthe first {len(found.rows)} {rows}")
    for row in found.rows:
        click.echo(f"  {msgspec.json.encode(row).decode()}")
    return None


def first_files(names: Sequence[str]) -> list[str]:
    """The first names, and how many others there are."""
    others = [f"and {len(names) - SHOWN_COUNTS:,} more"] if len(names) > SHOWN_COUNTS else []
    return [*names[:SHOWN_COUNTS], *others]


def show_files_left_out(names: Sequence[str]) -> None:
    """Print which files of a container are not read or have nothing to import."""
    if names:
        click.echo(f"  {len(names):,} files not read or empty: {', '.join(first_files(names))}")


def show_counts(title: str, counts: Mapping[str, int]) -> None:
    """The first entries, and how many others there are."""
    click.echo(f"\n{title}")
    for name, count in islice(counts.items(), SHOWN_COUNTS):
        click.echo(f"  {count:>12,}  {name}")
    if len(counts) > SHOWN_COUNTS:
        click.echo(f"  and {len(counts) - SHOWN_COUNTS:,} more")


def _require_accepted(opened: SourceFile, at: ImportProgress, rejects: RejectsFile) -> None:
    if at.accepted:
        return
    summary = NOTHING_ACCEPTED.format(opened.path.name, at.rejected)
    if first := rejects.first:
        summary += f", line {first.line} because {first.reason}"
    raise NothingAccepted(f"{summary}; the reasons are in {opened.rejects}")


@contextmanager
def _interruptible(record: Import, sentence: str, bar: ProgressBar) -> Iterator[None]:
    """On Ctrl-C print what to do next."""
    try:
        yield
    except KeyboardInterrupt:
        bar.print_line(sentence.format(record.id))
        raise click.Abort from None
