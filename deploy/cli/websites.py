"""`tidemark websites`: websites and their allowed origins; trackers send the id as client id."""

import click

from deploy.cli.context import (
    CliContext,
    as_json,
    id_option,
    print_record,
    record_fields,
    require_changes,
)
from deploy.cli.record_commands import add_record_commands, create_owned
from schemas.registry import Website
from schemas.registry.validation import new_website, validate_website_fields
from schemas.runtime.clock import now_ms

origin_option = click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="Origin from which browsers may send without a key, such as https://shop.example or "
    "https://*.shop.example; repeat for several. Default: any site.",
)


@click.group()
def websites() -> None:
    """Websites of organizations."""


@websites.command()
@click.option("--organization", required=True, metavar="ID", help="Organization id.")
@click.option("--domain", required=True, help="Host name, such as shop.example.")
@click.option("--timezone", default="UTC", show_default=True, help="IANA time zone of its days.")
@click.option("--name", default="", help="Name. Default: the domain.")
@id_option
@origin_option
@as_json
@click.pass_obj
def create(
    tidemark: CliContext,
    organization: str,
    domain: str,
    timezone: str,
    name: str,
    record_id: str | None,
    origins: tuple[str, ...],
    json: bool,
) -> None:
    """Create a website."""
    with tidemark.open_registry() as store:
        now = now_ms()
        website = new_website(organization, domain, now, timezone, name, record_id, origins)
        record = create_owned(store, website)
    print_record(record_fields(record), json)


@websites.command()
@click.argument("record_id", metavar="ID")
@click.option("--domain", help="Host name.")
@click.option("--timezone", help="IANA time zone of its days.")
@click.option("--name", help="Name.")
@origin_option
@click.option("--any-origin", is_flag=True, help="Clear the list: accept browsers from any site.")
@as_json
@click.pass_obj
def update(
    tidemark: CliContext,
    record_id: str,
    domain: str | None,
    timezone: str | None,
    name: str | None,
    origins: tuple[str, ...],
    any_origin: bool,
    json: bool,
) -> None:
    """Update the given fields; --allow-origin replaces the whole list."""
    if origins and any_origin:
        raise click.UsageError("use either --allow-origin or --any-origin, not both")
    with tidemark.open_registry() as store:
        changes = require_changes(
            domain=domain,
            timezone=timezone,
            name=name,
            allowed_origins=origins if origins or any_origin else None,
        )
        valid = validate_website_fields(changes)
        record = store.update(Website, record_id, now_ms(), **valid)
    print_record(record_fields(record), json)


add_record_commands(websites, Website, ("id", "organizationId", "domain", "timezone", "name"))
