"""`tidemark organizations`: tenants, their plans and custom limits."""

from typing import Any

import click

from deploy.cli.context import CliContext, id_option, require_changes
from deploy.cli.record_commands import (
    RecordGroup,
    changed_keep_days,
    keep_days_option,
    no_keep_days_option,
)
from schemas.plans import COLLECT_ITEMS, COLLECT_MIB, PLANS, Group
from schemas.registry import Organization, RegistryStore
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


organizations = RecordGroup(
    Organization,
    "organizations",
    "Organizations: the tenants. Plans: free, pro, scale, enterprise.",
    ("id", "name", "plan", "limits"),
    owner=None,
    restorable=True,
)


@organizations.creates(
    click.option("--name", required=True, help="Name of the organization."),
    click.option("--plan", type=click.Choice(list(PLANS)), default="free", show_default=True),
    limit_option,
    keep_days_option,
    id_option,
    creates_folder=True,
)
def create(
    _tidemark: CliContext, _store: RegistryStore, **fields: Any
) -> tuple[Organization, dict[str, object]]:
    """Create an organization."""
    return new_organization(now_ms=now_ms(), **fields), {}


@organizations.updates(
    click.option("--name", help="Name of the organization."),
    click.option("--plan", type=click.Choice(list(PLANS))),
    limit_option,
    click.option("--plan-limits", is_flag=True, help="Reset custom limits to those of the plan."),
    keep_days_option,
    no_keep_days_option,
)
def update(
    _tidemark: CliContext,
    store: RegistryStore,
    organization_id: str,
    name: str | None,
    plan: str | None,
    limits: dict[str, int],
    plan_limits: bool,
    keep_days: dict[str, int] | None,
    no_keep_days: bool,
) -> Organization:
    """Update the given fields; --limit changes only the group that it names."""
    present = {} if plan_limits else store.get(Organization, organization_id).limits
    changes = require_changes(
        name=name and validate_name("name", name),
        plan=plan,
        limits={**present, **validate_limits(limits)} if limits or plan_limits else None,
        keep_days=changed_keep_days(keep_days, no_keep_days),
    )
    return store.update(Organization, organization_id, now_ms(), **changes)
