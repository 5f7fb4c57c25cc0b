"""`tidemark up` and `tidemark status`: start everything, and show its status."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from deploy.cli.context import CliContext, as_json, print_json
from deploy.local.status_screen import process_table
from deploy.local.terminal import format_table
from deploy.local.up import START_ERRORS
from deploy.local.up import run_installation as run_everything

if TYPE_CHECKING:
    from deploy.local.other_machines import Address
    from deploy.local.status import SystemStatus

WATCH_SECONDS = 2.0
EXIT_CODES = {"ok": 0, "degraded": 1, "down": 2}


@click.command()
@click.option("--logs", is_flag=True, help="Also print all process logs.")
@click.pass_obj
def up(tidemark: CliContext, logs: bool) -> None:
    """Start broker, collectors, workers, keeper and query processes, and restart them when they
    fail.

    Ctrl-C or SIGTERM stops everything gracefully; a second one immediately.
    """
    try:
        run_everything(tidemark.settings, logs)
    except START_ERRORS as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot start: {error}") from None


def _parse_addresses(
    _context: click.Context, _param: click.Parameter, texts: Sequence[str]
) -> Sequence["Address"]:
    from deploy.local.other_machines import parse_address

    try:
        return [parse_address(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.option("--check", is_flag=True, help="Set the exit code: 0 ok, 1 degraded, 2 down.")
@click.option("--watch", is_flag=True, help="Repeat every 2 seconds until Ctrl-C.")
@click.option(
    "--at",
    "others",
    multiple=True,
    metavar="HOST:PORT",
    callback=_parse_addresses,
    help="Also ask a process of another machine, at its port of metrics; may be repeated. "
    "A name with several addresses asks all of them.",
)
@as_json
@click.pass_obj
def status(
    tidemark: CliContext, check: bool, watch: bool, others: Sequence["Address"], json: bool
) -> None:
    """Show the processes, the lag of the workers, and how fresh the tables are.

    `down`: no events are accepted or no queries are answered. `degraded`: a process is not ready, a
    table cannot be read, or the disk is nearly full. Problems are listed at the end.
    """
    from deploy.local.status import system_status  # `up` needs no table format

    if watch and check:
        raise click.UsageError("--check ends with an exit code, --watch does not end; choose one")
    condition = system_status(tidemark.settings, others)
    _print_status(condition, json)
    while watch:
        time.sleep(WATCH_SECONDS)
        condition = system_status(tidemark.settings, others)
        click.clear()
        _print_status(condition, json)
    if check and (code := EXIT_CODES[condition.state]):
        click.get_current_context().exit(code)


def _print_status(condition: "SystemStatus", json: bool) -> None:
    if json:
        print_json(condition)
    else:
        for line in _status_lines(condition):
            click.echo(line)


def _status_lines(condition: "SystemStatus") -> list[str]:
    if not condition.processes:
        runs = [f"no process is running on {condition.data}"]
    else:
        runs = process_table(condition.processes)
    runs += _other_machines(condition)
    imports = condition.imports
    tables = format_table(
        ("table", "rows", "MB", "newest row", "lag chunks", "lag seconds"),
        [
            *(
                (
                    t.name,
                    _or_dash(t.rows),
                    _or_dash(t.data_mb),
                    _or_dash(t.newest),
                    _or_dash(t.lag_chunks),
                    _or_dash(t.lag_seconds),
                )
                for t in condition.tables
            ),
            ("imports", "–", "–", "–", _or_dash(imports.lag_chunks), _or_dash(imports.lag_seconds)),
        ],
    )
    rest = f"quarantine: {_or_dash(condition.quarantine_rows)} rows; disk: "
    rest += f"{_or_dash(condition.disk_free_mb)} MB free"
    rest += f"; prepared results: {condition.prepared_mb} MB{_share(condition)}"
    if condition.last_backup_at:
        rest += f"; last backup: {condition.last_backup_at}"
    wrong = ["", f"{condition.state}:", *(f"  {problem}" for problem in condition.problems)]
    return [*runs, "", *tables, "", rest, *(wrong if condition.problems else [])]


def _other_machines(condition: "SystemStatus") -> list[str]:
    remote = [(each.name or "–", each.state, each.address) for each in condition.remote]
    workers = [(each.name, each.machine, str(each.partitions)) for each in condition.workers or ()]
    return [
        *(["", *format_table(("asked", "state", "address"), remote)] if remote else []),
        *(["", *format_table(("worker", "machine", "partitions"), workers)] if workers else []),
    ]


def _share(condition: "SystemStatus") -> str:
    tables = sum(table.data_mb or 0 for table in condition.tables)
    return f" ({condition.prepared_mb / tables:.0%} of the tables)" if tables else ""


def _or_dash(value: object) -> str:
    return "–" if value is None else str(value)
