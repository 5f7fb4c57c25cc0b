"""`tidemark audit`: the audit trail of the registry."""

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_rows
from schemas.registry.records import Change
from schemas.runtime.clock import format_instant

COLUMNS = ("at", "actor", "action", "kind", "recordId", "organizationId", "fields")


@click.command()
@click.option("--organization", metavar="ID", help="Only records of this organization.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True)
@as_json
@click.pass_obj
def audit(tidemark: CliContext, organization: str | None, limit: int, json: bool) -> None:
    """List changes of the registry and who made them, newest first.

    The actor is `key:` with the id of an API key, or `cli:` with the user of the command line.
    Changed fields are listed by name; their values are not recorded.
    """
    with tidemark.open_registry() as store:
        rows = [_change_fields(change) for change in store.changes(limit, organization)]
    print_rows(rows, COLUMNS, json)


def _change_fields(change: Change) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(change)
    return {**fields, "at": format_instant(change.at)}
