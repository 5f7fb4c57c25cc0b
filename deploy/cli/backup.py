"""`tidemark backup`: back up lake and registry; list, verify and prune backups."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_json, print_record, print_rows
from deploy.cli.progress_bar import ProgressBar
from schemas.runtime.clock import format_instant

if TYPE_CHECKING:
    from stream.backup.lake_backup import BackupResult

LIST_COLUMNS = ("id", "takenAt", "rows", "files", "megabytes", "problem")
PROBLEM_COLUMNS = ("backup", "path", "problem")
MEGABYTE = 1_048_576
EXIT_PROBLEMS = 1


class BackupGroup(click.Group):
    """Takes an argument that is no command as a target: `tidemark backup /mnt/backups`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["now", *args]
        return super().parse_args(context, args)


@click.group(cls=BackupGroup, subcommand_metavar="TARGET | COMMAND [ARGS]...")
def backup() -> None:
    """Back up tables and registry to TARGET, a folder or an s3:// URL, while everything runs."""


def _require_target(_context: click.Context, _param: click.Parameter, target: str) -> str:
    if not target.strip():  # as of a variable that is not set
        raise click.UsageError("TARGET is empty; give a folder or an s3:// URL")
    return target


target_argument = click.argument("target", metavar="TARGET", callback=_require_target)


@backup.command("now", options_metavar="[OPTIONS]")
@target_argument
@click.option(
    "--limit-mb",
    type=click.FloatRange(min=0, min_open=True),
    help="Copy at most so many megabytes a second.",
)
@as_json
@click.pass_context
def backup_now(context: click.Context, target: str, limit_mb: float | None, json: bool) -> None:
    """Back up all tables at one version each, the registry, and settings without secrets.

    Copies only what TARGET does not have yet. Exit code 1 when data files of the lake are damaged.
    """
    from stream.backup.file_store import file_store  # with the table format
    from stream.backup.lake_backup import Pace, take_backup

    tidemark = context.find_object(CliContext)
    assert tidemark  # noqa: S101 - for the type checker
    tidemark.require_data_folder()
    bar = ProgressBar()
    with backup_errors():
        result = take_backup(
            tidemark.settings, file_store(target), Pace(limit_mb or 0), show_on(bar)
        )
    bar.end()
    print_record(_result_fields(result), json)
    for file in result.manifest.problems:
        click.echo(f"tidemark: {file.path} {file.problem}; run tidemark doctor", err=True)
    context.exit(EXIT_PROBLEMS if result.manifest.problems else 0)


@backup.command("list")
@target_argument
@as_json
def list_(target: str, json: bool) -> None:
    """List the backups that TARGET has, newest first."""
    from stream.backup.file_store import file_store
    from stream.backup.kept_backups import list_backups

    with backup_errors():
        rows = [msgspec.to_builtins(summary) for summary in list_backups(file_store(target))]
    print_rows(rows, LIST_COLUMNS, json)


@backup.command()
@target_argument
@click.option("--backup", "identifier", metavar="ID", help="Only this one. Default: all.")
@as_json
@click.pass_context
def verify(context: click.Context, target: str, identifier: str | None, json: bool) -> None:
    """Read every file of the backups and compare it with its checksum.

    Exit code 1 when a file is missing or damaged.
    """
    from stream.backup.file_store import file_store
    from stream.backup.kept_backups import verify_backups
    from stream.backup.manifest import backup_ids

    files, bar = file_store(target), ProgressBar()
    with backup_errors():
        identifiers = backup_ids(files)
        if identifier is not None and identifier not in identifiers:
            raise click.UsageError(f"--backup: {target} has no backup {identifier}")
        chosen = identifiers if identifier is None else [identifier]
        problems = list(verify_backups(files, chosen, show_on(bar)))
    bar.end()
    if not chosen:
        raise click.ClickException(f"{target} has no backup")
    if json:
        print_json(problems)
    elif problems:
        print_rows([msgspec.to_builtins(problem) for problem in problems], PROBLEM_COLUMNS, json)
        click.echo(
            "tidemark: remove damaged files from the target, and back up: what the lake still has "
            "is copied again",
            err=True,
        )
    else:
        click.echo(f"{len(chosen)} backups are intact")
    context.exit(EXIT_PROBLEMS if problems else 0)


@backup.command()
@target_argument
@click.option(
    "--keep-days",
    type=click.FloatRange(min=0),
    required=True,
    help="Keep the backups of so many days.",
)
@click.option(
    "--keep-last",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Keep so many of the newest ones at any age.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@as_json
def prune(target: str, keep_days: float, keep_last: int, dry_run: bool, json: bool) -> None:
    """Remove old backups, then the files that no backup needs and that are three days old."""
    from stream.backup.file_store import file_store
    from stream.backup.kept_backups import NothingPruned
    from stream.backup.kept_backups import prune as prune_backups

    try:
        with backup_errors():
            pruned = prune_backups(file_store(target), keep_days, keep_last, is_dry_run=dry_run)
    except NothingPruned as error:
        raise click.ClickException(str(error)) from None
    print_record(
        {
            "backups": list(pruned.backups),
            "files": pruned.files,
            "megabytes": round(pruned.size / MEGABYTE, 3),
        },
        json,
    )


@contextmanager
def backup_errors() -> Iterator[None]:
    """Errors of lake, registry and target in one line."""
    from deploy.local.registry_startup import error_reason
    from schemas.lake.delta_table import UnreadableTable
    from schemas.registry import DatabaseError
    from stream.backup.lake_backup import BackupFailed
    from stream.backup.manifest import ManifestDamaged

    try:
        yield
    except (BackupFailed, ManifestDamaged) as error:
        raise click.ClickException(str(error)) from None
    except UnreadableTable as error:
        raise click.ClickException(f"{error}; run tidemark doctor") from None
    except (DatabaseError, OSError) as error:
        raise click.ClickException(error_reason(error)) from None


def show_on(bar: ProgressBar) -> Callable[[int, int], None]:
    def show(files: int, size: int) -> None:
        bar.show(f"{files:,} files, {size // MEGABYTE:,} MB")

    return show


def _result_fields(result: "BackupResult") -> dict[str, object]:
    manifest = result.manifest
    return {
        "id": manifest.id,
        "takenAt": format_instant(manifest.taken_ms),
        "tables": {table.name: table.version for table in manifest.tables},
        "rows": {table.name: table.rows for table in manifest.tables},
        "files": result.files,
        "megabytes": round(result.size / MEGABYTE, 3),
        "copiedFiles": result.copied_files,
        "copiedMegabytes": round(result.copied_size / MEGABYTE, 3),
        "damaged": [file.path for file in manifest.problems],
        "seconds": result.seconds,
    }
