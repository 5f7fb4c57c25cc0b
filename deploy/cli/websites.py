"""`tidemark websites`: what trackers send for; a website's id is their client id."""

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
from schemas.registry.allowed_origins import validate_origins
from schemas.registry.validation import (
    new_website,
    validate_domain,
    validate_name,
    validate_timezone,
)
from schemas.runtime.clock import now_ms

origin_option = click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="From where browsers may send without a key, such as https://shop.example or "
    "https://*.shop.example; several times for several; from any site when not given.",
)


@click.group()
def websites() -> None:
    """Websites of organizations."""


@websites.command()
@click.option("--organization", required=True, metavar="ID", help="Whose it is.")
@click.option("--domain", required=True, help="Its host name, such as shop.example.")
@click.option("--timezone", default="UTC", show_default=True, help="IANA name.")
@click.option("--name", default="", help="What it is called; the domain when not given.")
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
@click.option("--domain", help="Its host name.")
@click.option("--timezone", help="IANA name.")
@click.option("--name", help="What it is called.")
@origin_option
@click.option("--any-origin", is_flag=True, help="Forget the list: browsers send from any site.")
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
    """Change what is given; the list of origins is replaced as a whole."""
    if origins and any_origin:
        raise click.UsageError("--allow-origin and --any-origin exclude each other")
    with tidemark.open_registry() as store:
        changes = require_changes(
            domain=domain and validate_domain(domain),
            timezone=timezone and validate_timezone(timezone),
            name=name and validate_name("name", name),
            allowed_origins=validate_origins(origins) if origins or any_origin else None,
        )
        record = store.update(Website, record_id, now_ms(), **changes)
    print_record(record_fields(record), json)


add_record_commands(websites, Website, ("id", "organizationId", "domain", "timezone", "name"))
