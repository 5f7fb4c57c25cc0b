"""`tidemark organizations`: tenants, their plans and custom limits."""

import click

from deploy.cli.context import (
    CliContext,
    as_json,
    id_option,
    print_record,
    record_fields,
    require_changes,
)
from deploy.cli.record_commands import add_record_commands
from schemas.plans import COLLECT_ITEMS, COLLECT_MIB, PLANS, Group
from schemas.registry import Organization
from schemas.registry.validation import new_organization, validate_limits, validate_name
from schemas.runtime.clock import now_ms


def _parse_limits(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    limits = {}
    for value in values:
        group, _, number = value.partition("=")
        if not number.isascii() or not number.isdigit():
            raise click.BadParameter(f"'{value}' is not GROUP=N, such as query=500")
        limits[group] = int(number)
    return limits


limit_option = click.option(
    "--limit",
    "limits",
    metavar="GROUP=N",
    multiple=True,
    callback=_parse_limits,
    help=f"Custom limit per minute instead of the plan's: requests of {', '.join(Group)}, or "
    f"{COLLECT_MIB}, "
    f"{COLLECT_ITEMS}.",
)


@click.group()
def organizations() -> None:
    """Organizations: the tenants. Plans: free, pro, scale, enterprise."""


@organizations.command()
@click.option("--name", required=True, help="Name of the organization.")
@click.option("--plan", type=click.Choice(list(PLANS)), default="free", show_default=True)
@limit_option
@id_option
@as_json
@click.pass_obj
def create(
    tidemark: CliContext,
    name: str,
    plan: str,
    limits: dict[str, int],
    record_id: str | None,
    json: bool,
) -> None:
    """Create an organization."""
    with tidemark.open_registry(creates_folder=True) as store:
        record = store.create(new_organization(name, plan, now_ms(), limits, record_id))
    print_record(record_fields(record), json)


@organizations.command()
@click.argument("record_id", metavar="ID")
@click.option("--name", help="Name of the organization.")
@click.option("--plan", type=click.Choice(list(PLANS)))
@limit_option
@click.option("--plan-limits", is_flag=True, help="Reset custom limits to those of the plan.")
@as_json
@click.pass_obj
def update(
    tidemark: CliContext,
    record_id: str,
    name: str | None,
    plan: str | None,
    limits: dict[str, int],
    plan_limits: bool,
    json: bool,
) -> None:
    """Update the given fields; --limit changes only the group that it names."""
    with tidemark.open_registry() as store:
        present = {} if plan_limits else store.get(Organization, record_id).limits
        changes = require_changes(
            name=name and validate_name("name", name),
            plan=plan,
            limits={**present, **validate_limits(limits)} if limits or plan_limits else None,
        )
        record = store.update(Organization, record_id, now_ms(), **changes)
    print_record(record_fields(record), json)


add_record_commands(organizations, Organization, ("id", "name", "plan", "limits"), owner=None)
