"""The `create`, `update`, `list`, `show` and `delete` commands of every record type."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from deploy.cli.context import (
    CliContext,
    as_json,
    combine_options,
    print_record,
    print_rows,
    record_fields,
)
from schemas.errors import Malformed
from schemas.registry import Organization, RecordNotFound, RegistryStore
from schemas.registry.keep_days import ALL_TABLES, KEEP_TABLES, KeepBounds, validate_keep_days
from schemas.registry.record_mapping import RECORD_TABLES, kind_name
from schemas.registry.records import Deletion, OwnedRecord, Record
from schemas.runtime.clock import format_instant

Option = Callable[[Any], Any]
Make = Callable[..., tuple[Record, Mapping[str, object]]]
"""A new record from the options, and what only `create` prints."""
Change = Callable[..., Record]
"""The record after an update, from its id and the options."""

organization_option = click.option(
    "--organization", required=True, metavar="ID", help="Organization id."
)


class RecordGroup(click.Group):
    """The commands of one record type; `creates` and `updates` add those with options."""

    def __init__(
        self,
        record_type: type[Record],
        name: str,
        description: str,
        columns: Sequence[str],
        owner: str | None = "organization",
        restorable: bool = False,
    ) -> None:
        """`columns` are those of the list; `owner` is what it can be restricted to."""
        super().__init__(name, help=description)
        self.record_type = record_type
        self.add_command(_list_command(record_type, columns, owner))
        self.add_command(_show_command(record_type))
        self.add_command(_delete_command(record_type))
        if restorable:
            self.add_command(_deleted_command(record_type))
            self.add_command(_restore_command(record_type))

    def creates(
        self, *options: Option, description: str | None = None, creates_folder: bool = False
    ) -> Callable[[Make], Make]:
        """Add `create` with these options; the decorated function makes the record."""

        def add(make: Make) -> Make:
            @self.command("create", help=description or make.__doc__)
            @combine_options(*options, as_json)
            @click.pass_obj
            def create(tidemark: CliContext, /, json: bool, **given: Any) -> None:
                with tidemark.open_registry(creates_folder) as store:
                    record, once = make(tidemark, store, **given)
                    _check_organization(store, record)
                    store.create(record)
                print_record(record_fields(record, **once), json)

            return make

        return add

    def updates(
        self, *options: Option, description: str | None = None
    ) -> Callable[[Change], Change]:
        """Add `update` with these options; the decorated function updates the record."""

        def add(change: Change) -> Change:
            @self.command("update", help=description or change.__doc__)
            @click.argument("record_id", metavar="ID")
            @combine_options(*options, as_json)
            @click.pass_obj
            def update(tidemark: CliContext, /, record_id: str, json: bool, **given: Any) -> None:
                with tidemark.open_registry() as store:
                    record = change(tidemark, store, record_id, **given)
                print_record(record_fields(record), json)

            return change

        return add


def _check_organization(store: RegistryStore, record: Record) -> None:
    if isinstance(record, OwnedRecord):
        try:
            store.get(Organization, record.organization_id)
        except RecordNotFound as unknown:
            raise click.UsageError(f"--organization: {unknown}") from None


def _list_command(
    record_type: type[Record], columns: Sequence[str], owner: str | None
) -> click.Command:
    plural = RECORD_TABLES[record_type].name.replace("_", " ")

    @click.command("list", help=f"List {plural}, oldest first.")
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


def _show_command(record_type: type[Record]) -> click.Command:
    @click.command("show", help=f"Show one {kind_name(record_type)}.")
    @click.argument("record_id", metavar="ID")
    @as_json
    @click.pass_obj
    def show(tidemark: CliContext, record_id: str, json: bool) -> None:
        with tidemark.open_registry() as store:
            print_record(record_fields(store.get(record_type, record_id)), json)

    return show


def _delete_command(record_type: type[Record]) -> click.Command:
    word = kind_name(record_type)

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

    return delete


def _deleted_command(record_type: type[Record]) -> click.Command:
    plural = RECORD_TABLES[record_type].name

    @click.command("deleted", help=f"List deleted {plural} that can be restored or are purged.")
    @as_json
    @click.pass_obj
    def deleted(tidemark: CliContext, json: bool) -> None:
        with tidemark.open_registry() as store:
            deletions = store.list(Deletion, record_kind=kind_name(record_type))
        rows = [
            {
                "id": deletion.id,
                "organizationId": deletion.organization_id,
                "name": deletion.name,
                "deletedAt": format_instant(deletion.created_at),
                "restorable": bool(deletion.records),
                "purgedAt": format_instant(deletion.purged_at),
            }
            for deletion in deletions
        ]
        print_rows(rows, ("id", "organizationId", "name", "deletedAt", "restorable"), json)

    return deleted


def _restore_command(record_type: type[Record]) -> click.Command:
    word = kind_name(record_type)

    @click.command("restore", help=f"Restore a deleted {word} and what belonged to it.")
    @click.argument("record_id", metavar="ID")
    @as_json
    @click.pass_obj
    def restore(tidemark: CliContext, record_id: str, json: bool) -> None:
        with tidemark.open_registry() as store:
            print_record(record_fields(store.restore_deleted(record_type, record_id)), json)

    return restore


def _parse_keep_days(
    context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, int] | None:
    """`400` is of all tables, `events=90` of one; None when the option was not given."""
    if not values:
        return None
    days = {}
    for value in values:
        table, _, number = value.rpartition("=")
        if not number.isascii() or not number.isdigit():
            raise click.BadParameter(f"'{value}' is not DAYS or TABLE=DAYS, such as events=90")
        days[table or ALL_TABLES] = int(number)
    tidemark: CliContext = context.obj
    try:
        return dict(KeepBounds.of_settings(tidemark.settings).check(validate_keep_days(days)))
    except Malformed as error:
        raise click.BadParameter(str(error)) from None


keep_days_option = click.option(
    "--keep-days",
    metavar="[TABLE=]DAYS",
    multiple=True,
    callback=_parse_keep_days,
    help="Delete rows after so many days; repeat for tables of their own "
    f"({', '.join(KEEP_TABLES)}). Replaces all days that were set.",
)
no_keep_days_option = click.option(
    "--no-keep-days", is_flag=True, help="Clear the days to keep: those of the owner apply."
)


def changed_keep_days(
    keep_days: dict[str, int] | None, no_keep_days: bool
) -> dict[str, int] | None:
    """The new days to keep; None when they stay."""
    if keep_days and no_keep_days:
        raise click.UsageError("use either --keep-days or --no-keep-days, not both")
    return {} if no_keep_days else keep_days


def _display_name(record: Record) -> str:
    """The name and id of a record, for a confirmation."""
    named = getattr(record, "name", "")
    return f"'{named}' ({record.id})" if named else f"({record.id})"
