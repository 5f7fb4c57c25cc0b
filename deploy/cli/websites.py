"""`tidemark websites`: what trackers send for; a website's id is their client id."""

import click

from deploy.cli.context import Tidemark, as_json, given, id_option, print_record, shown
from deploy.cli.record_commands import add_reading, create_owned
from schemas.registry import Website
from schemas.registry.allowed_origins import checked_origins
from schemas.registry.validation import checked_domain, checked_name, checked_timezone, new_website
from schemas.runtime.clock import now_ms

allow_origin = click.option(
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
@allow_origin
@as_json
@click.pass_obj
def create(
    tidemark: Tidemark,
    organization: str,
    domain: str,
    timezone: str,
    name: str,
    record_id: str | None,
    origins: tuple[str, ...],
    json: bool,
) -> None:
    """Create a website."""
    with tidemark.store() as store:
        now = now_ms()
        website = new_website(organization, domain, now, timezone, name, record_id, origins)
        record = create_owned(store, website)
    print_record(shown(record), json)


@websites.command()
@click.argument("record_id", metavar="ID")
@click.option("--domain", help="Its host name.")
@click.option("--timezone", help="IANA name.")
@click.option("--name", help="What it is called.")
@allow_origin
@click.option("--any-origin", is_flag=True, help="Forget the list: browsers send from any site.")
@as_json
@click.pass_obj
def update(
    tidemark: Tidemark,
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
    with tidemark.store() as store:
        changes = given(
            domain=domain and checked_domain(domain),
            timezone=timezone and checked_timezone(timezone),
            name=name and checked_name("name", name),
            allowed_origins=checked_origins(origins) if origins or any_origin else None,
        )
        record = store.update(Website, record_id, now_ms(), **changes)
    print_record(shown(record), json)


add_reading(websites, Website, ("id", "organizationId", "domain", "timezone", "name"))
