"""`tidemark up` and `tidemark status`: start everything, and say how it is."""

from typing import TYPE_CHECKING

import click

from deploy.cli.common import Tidemark, as_json, print_json
from deploy.local.columns import table
from deploy.local.screen import process_table
from deploy.local.up import Refused
from deploy.local.up import up as run_everything

if TYPE_CHECKING:
    from deploy.local.condition import Condition


@click.command()
@click.option("--logs", is_flag=True, help="Show all logs on the screen, too.")
@click.pass_obj
def up(tidemark: Tidemark, logs: bool) -> None:
    """Start broker, collectors, workers, keeper and query, and keep them running.

    Ctrl-C or SIGTERM stops all in order; a second one at once.
    """
    try:
        run_everything(tidemark.settings, logs)
    except Refused as refused:
        raise click.ClickException(str(refused)) from None
    except OSError as refused:
        raise click.ClickException(f"cannot start: {refused}") from None


@click.command()
@as_json
@click.pass_obj
def status(tidemark: Tidemark, json: bool) -> None:
    """Show what runs, how far the workers are behind, and how fresh the tables are."""
    from deploy.local.condition import condition_of  # `up` does without what opens tables

    condition = condition_of(tidemark.settings)
    if json:
        return print_json(condition)
    for line in _lines(condition):
        click.echo(line)
    return None


def _lines(condition: "Condition") -> list[str]:
    if not condition.processes:
        runs = [f"nothing runs on {condition.data}"]
    else:
        runs = process_table(condition.processes)
    lane = condition.imports
    tables = table(
        ("table", "rows", "newest row", "lag chunks", "lag seconds"),
        [
            *(
                (
                    t.name,
                    str(t.rows),
                    _or_dash(t.newest),
                    _or_dash(t.lag_chunks),
                    _or_dash(t.lag_seconds),
                )
                for t in condition.tables
            ),
            ("imports", "–", "–", _or_dash(lane.lag_chunks), _or_dash(lane.lag_seconds)),
        ],
    )
    return [*runs, "", *tables]


def _or_dash(value: object) -> str:
    return "–" if value is None else str(value)
