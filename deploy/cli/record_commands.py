"""The `list`, `show` and `delete` commands of every record type."""

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import click

from deploy.cli.context import CliContext, as_json, print_record, print_rows, record_fields
from schemas.registry import Key, Link, Organization, RecordNotFound, RegistryStore, Website
from schemas.registry.record_mapping import RECORD_TABLES, RecordT, kind_name
from schemas.registry.records import Record

Owned = TypeVar("Owned", Website, Link, Key)


def create_owned(store: RegistryStore, record: Owned) -> Owned:
    """Store a new record of `--organization`, which must exist."""
    try:
        store.get(Organization, record.organization_id)
    except RecordNotFound as unknown:
        raise click.UsageError(f"--organization: {unknown}") from None
    return store.create(record)


def add_record_commands(
    group: click.Group,
    record_type: type[RecordT],
    columns: Sequence[str],
    owner: str | None = "organization",
) -> None:
    """Add `list`, `show` and `delete` for a record type to a command group.

    `owner` is what the list can be restricted to: an organization, a website or nothing.
    """
    word = kind_name(record_type)

    @click.command("show", help=f"Show one {word}.")
    @click.argument("record_id", metavar="ID")
    @as_json
    @click.pass_obj
    def show(tidemark: CliContext, record_id: str, json: bool) -> None:
        with tidemark.open_registry() as store:
            print_record(record_fields(store.get(record_type, record_id)), json)

    @click.command("delete", help=f"Delete one {word} and what belongs to it.")
    @click.argument("record_id", metavar="ID")
    @click.option(
        "--yes", is_flag=True, help="Skip the confirmation (never asked without a terminal)."
    )
    @as_json
    @click.pass_obj
    def delete(tidemark: CliContext, record_id: str, yes: bool, json: bool) -> None:
        with tidemark.open_registry() as store:
            name = _display_name(store.get(record_type, record_id))
            if not yes and sys.stdin.isatty():
                click.confirm(f"Delete {word} {name} and what belongs to it?", abort=True)
            store.delete(record_type, record_id)
        print_record({"id": record_id, "deleted": True}, json)

    group.add_command(_list_command(record_type, columns, owner))
    group.add_command(show)
    group.add_command(delete)


def _list_command(
    record_type: type[RecordT], columns: Sequence[str], owner: str | None
) -> click.Command:
    @click.command("list", help=f"List {RECORD_TABLES[record_type].name}, oldest first.")
    @as_json
    @click.pass_obj
    def command(tidemark: CliContext, json: bool, owner_id: str | None = None) -> None:
        where: dict[str, Any] = {f"{owner}_id": owner_id} if owner_id else {}
        with tidemark.open_registry() as store:
            records = store.list(record_type, **where)
            print_rows([record_fields(record) for record in records], columns, json)

    if owner is not None:
        only = f"Only records of this {owner}."
        command.params.insert(0, click.Option([f"--{owner}", "owner_id"], metavar="ID", help=only))
    return command


def _display_name(record: Record) -> str:
    """The name and id of a record, for a confirmation."""
    named = getattr(record, "name", "")
    return f"'{named}' ({record.id})" if named else f"({record.id})"
