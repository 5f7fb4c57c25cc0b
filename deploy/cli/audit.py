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
@click.option("--website", metavar="ID", help="Only this website and records of it.")
@click.option("--record", metavar="ID", help="Only this record.")
@as_json
@click.pass_obj
def audit(
    tidemark: CliContext,
    organization: str | None,
    limit: int,
    website: str | None,
    record: str | None,
    json: bool,
) -> None:
    """List changes of the registry and who made them, newest first.

    The actor is `key:` with the id of an API key, or `cli:` with the user of the command line.
    With --json each has the values before and after it, without secrets, long ones cut.
    """
    with tidemark.open_registry() as store:
        rows = [
            _change_fields(change)
            for change in store.changes(limit, organization, website_id=website, record_id=record)
        ]
    print_rows(rows, COLUMNS, json)


def _change_fields(change: Change) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(change)
    return {**fields, "at": format_instant(change.at)}
