"""`tidemark audit`: the audit trail of the registry."""

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_rows
from schemas.registry.audit_names import KINDS, Names
from schemas.registry.records import Change
from schemas.runtime.clock import format_instant

COLUMNS = ("at", "actor", "action", "kind", "recordId", "record", "organizationId", "fields")


@click.command()
@click.option("--organization", metavar="ID", help="Only records of this organization.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("--website", metavar="ID", help="Only this website and records of it.")
@click.option("--record", metavar="ID", help="Only this record.")
@click.option("--kind", type=click.Choice(list(KINDS)), help="Only records of this kind.")
@click.option(
    "--actor",
    metavar="ACTOR",
    help="Only changes by this actor; person, key or cli: by any of them.",
)
@as_json
@click.pass_obj
def audit(
    tidemark: CliContext,
    organization: str | None,
    limit: int,
    website: str | None,
    record: str | None,
    kind: str | None,
    actor: str | None,
    json: bool,
) -> None:
    """List changes of the registry and who made them, newest first.

    The actor is `person:` with an e-mail address, `key:` with the id of an API key, or `cli:` with
    the user of the command line; the record has the names that it has now, or had when it was
    deleted. With --json each has the values before and after it, without secrets, long ones cut.
    """
    where = {"website_id": website, "record_id": record, "kind": kind, "actor": actor}
    with tidemark.open_registry() as store:
        changes = store.changes(limit, organization, None, **where)
        names = store.names_of(changes)
    rows = [_change_fields(*each) for each in zip(changes, names, strict=True)]
    print_rows(rows, COLUMNS, json)


def _change_fields(change: Change, names: Names | None) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(change)
    return {**fields, "at": format_instant(change.at), "record": names}
