"""`tidemark websites`: websites and their allowed origins; trackers send the id as client id."""

from typing import Any

import click

from deploy.cli.context import CliContext, id_option, require_changes
from deploy.cli.record_commands import (
    RecordGroup,
    changed_keep_days,
    keep_days_option,
    no_keep_days_option,
    organization_option,
)
from schemas.registry import RegistryStore, Website
from schemas.registry.validation import new_website, validate_website_fields
from schemas.runtime.clock import now_ms

origin_option = click.option(
    "--allow-origin",
    "allowed_origins",
    metavar="ORIGIN",
    multiple=True,
    help="Origin from which browsers may send without a key, such as https://shop.example or "
    "https://*.shop.example; repeat for several. Default: any site.",
)
websites = RecordGroup(
    Website,
    "websites",
    "Websites of organizations.",
    ("id", "organizationId", "domain", "timezone", "name"),
    restorable=True,
)


@websites.creates(
    organization_option,
    click.option("--domain", required=True, help="Host name, such as shop.example."),
    click.option(
        "--timezone", default="UTC", show_default=True, help="IANA time zone of its days."
    ),
    click.option("--name", default="", help="Name. Default: the domain."),
    id_option,
    origin_option,
    keep_days_option,
)
def create(
    _tidemark: CliContext, _store: RegistryStore, organization: str, **fields: Any
) -> tuple[Website, dict[str, object]]:
    """Create a website."""
    return new_website(organization, now_ms=now_ms(), **fields), {}


@websites.updates(
    click.option("--domain", help="Host name."),
    click.option("--timezone", help="IANA time zone of its days."),
    click.option("--name", help="Name."),
    origin_option,
    click.option(
        "--any-origin", is_flag=True, help="Clear the list: accept browsers from any site."
    ),
    keep_days_option,
    no_keep_days_option,
)
def update(
    _tidemark: CliContext,
    store: RegistryStore,
    website_id: str,
    allowed_origins: tuple[str, ...],
    any_origin: bool,
    keep_days: dict[str, int] | None,
    no_keep_days: bool,
    **fields: str | None,
) -> Website:
    """Update the given fields; --allow-origin replaces the whole list."""
    if allowed_origins and any_origin:
        raise click.UsageError("use either --allow-origin or --any-origin, not both")
    origins = allowed_origins if allowed_origins or any_origin else None
    days = changed_keep_days(keep_days, no_keep_days)
    changes = validate_website_fields(
        require_changes(**fields, allowed_origins=origins, keep_days=days)
    )
    return store.update(Website, website_id, now_ms(), **changes)
