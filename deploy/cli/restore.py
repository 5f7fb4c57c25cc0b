"""`tidemark restore`: lake and registry as they were at a backup, in an empty folder or bucket."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from deploy.cli.backup import backup_errors, show_on, target_argument
from deploy.cli.context import CliContext, as_json, print_json, print_record
from deploy.cli.progress_bar import ProgressBar
from schemas.lake.object_store import is_object_store
from schemas.runtime.clock import format_instant
from schemas.runtime.environment import PREFIX
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.backup.file_store import FileStore
    from stream.backup.manifest import Manifest
    from stream.backup.restore import RestoreResult

MEGABYTE = 1_048_576
EXIT_PROBLEMS = 1
PLACES = ("TIDEMARK_DATA_DIR", "TIDEMARK_LAKE", "TIDEMARK_REGISTRY")
"""Settings that --into and the environment of the restore have decided."""


@click.command()
@target_argument
@click.option(
    "--backup",
    "time",
    metavar="TIME",
    help="Id of a backup, or an ISO 8601 time: the last one until then. Default: the newest.",
)
@click.option(
    "--into",
    required=True,
    metavar="FOLDER|URL",
    help="Empty data folder; or URL of the tables, the data folder is then TIDEMARK_DATA_DIR.",
)
@as_json
@click.pass_context
def restore(context: click.Context, target: str, time: str | None, into: str, json: bool) -> None:
    """Restore tables and registry from a backup: same results, ids, keys and receipts.

    Erasures of after the backup are carried out, too, before the command ends.
    Refuses a folder or bucket that has tables or a registry. Run again after an interruption, it
    continues. Exit code 1 when data files of the backup are damaged.
    """
    from deploy.local.registry_startup import cli_actor
    from stream.backup.file_store import file_store
    from stream.backup.restore import RestoreFailed, RestoreRefused, check_destination
    from stream.backup.restore import restore as restore_backup
    from stream.maintenance.erasure import carry_out

    tidemark = context.find_object(CliContext)
    assert tidemark  # noqa: S101 - for the type checker
    settings, files, bar = destination(tidemark.settings, into), file_store(target), ProgressBar()
    try:
        with backup_errors():
            manifest = _selected(files, target, time)
            check_destination(settings, manifest)
            result = restore_backup(files, manifest, settings, cli_actor(), carry_out, show_on(bar))
    except (RestoreFailed, RestoreRefused) as error:
        raise click.ClickException(str(error)) from None
    bar.end()
    differing = differing_settings(manifest.settings, settings)
    if json:
        print_json(
            {**_result_fields(result), "nextEpoch": result.next_epoch, "settings": differing}
        )
    else:
        print_record(_result_fields(result), json)
        for line in next_steps(settings, result, differing):
            click.echo(line)
    for file in result.problems:
        click.echo(
            f"tidemark: {file.path} {file.problem}: run tidemark scrub, then "
            f"tidemark repair {file.path}",
            err=True,
        )
    for erasure in result.unfinished:
        click.echo(
            f"tidemark: erasure {erasure} waits for the damaged files: the keeper carries it out "
            "once they are repaired or given up",
            err=True,
        )
    context.exit(EXIT_PROBLEMS if result.problems else 0)


def _selected(files: "FileStore", target: str, time: str | None) -> "Manifest":
    from stream.backup.manifest import read_manifest, select_backup

    try:
        identifier = select_backup(files, time)
    except ValueError:
        raise click.UsageError(
            f"--backup: '{time}' is neither the id of a backup nor an ISO 8601 time"
        ) from None
    if identifier is None:
        raise click.ClickException(f"{target} has no backup{f' until {time}' if time else ''}")
    return read_manifest(files, identifier)


def destination(settings: Settings, into: str) -> Settings:
    """The settings of a restore: a data folder with its own tables, or tables at a URL."""
    if is_object_store(into):
        return structs.replace(settings, lake=into.rstrip("/"))
    return structs.replace(settings, data_dir=str(Path(into).absolute()), lake="")


def differing_settings(backed_up: Mapping[str, str], settings: Settings) -> Mapping[str, str]:
    """The settings of the backup that are others here, but places."""
    present = {
        PREFIX + name.upper(): str(getattr(settings, name)) for name in Settings.__struct_fields__
    }
    return {
        name: value
        for name, value in backed_up.items()
        if name not in PLACES and present.get(name) != value
    }


def next_steps(
    settings: Settings, result: "RestoreResult", differing: Mapping[str, str]
) -> Iterator[str]:
    """What to set and to run, and what is missing."""
    taken_at = format_instant(result.manifest.taken_ms)
    if differing:
        yield "settings of the backup that differ here:"
        yield from (f"    {name}={shlex.quote(value)}" for name, value in differing.items())
    yield f"what arrived after {taken_at} is not in the backup:"
    yield (
        "    with the old Kafka (the same TIDEMARK_KAFKA, or its folder `kafka` moved to "
        f"{settings.data}) workers read on from where the backup ended, nothing is missing"
    )
    if settings.kafka or settings.lake:
        yield (
            "    with a new Kafka it is lost; start with "
            f"TIDEMARK_INGEST_EPOCH={result.next_epoch}, and keep that setting"
        )
    else:
        yield "    with a new Kafka it is lost; workers begin a new epoch by themselves"
    yield "start:"
    # Also when it is empty: the environment may name the lake of the lost machine.
    places = {"TIDEMARK_DATA_DIR": str(settings.data), "TIDEMARK_LAKE": settings.lake}
    yield f"    {' '.join(f'{name}={shlex.quote(at)}' for name, at in places.items())} tidemark up"


def _result_fields(result: "RestoreResult") -> dict[str, object]:
    return {
        "backup": result.manifest.id,
        "takenAt": format_instant(result.manifest.taken_ms),
        "rows": {table.name: table.rows for table in result.manifest.tables},
        "erasures": result.erasures,
        "files": result.files,
        "megabytes": round(result.size / MEGABYTE, 3),
        "damaged": [file.path for file in result.problems],
        "seconds": result.seconds,
    }
