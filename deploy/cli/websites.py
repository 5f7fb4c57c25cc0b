"""`tidemark websites`: what trackers send for; a website's id is their client id."""

import click

from deploy.cli.common import Tidemark, as_json, create_owned, given, id_option, print_record, shown
from deploy.cli.reading import add_reading
from schemas.clock import now_ms
from schemas.registry import Website
from schemas.registry.making import checked_domain, checked_name, checked_timezone, new_website


@click.group()
def websites() -> None:
    """Websites of organizations."""


@websites.command()
@click.option("--organization", required=True, metavar="ID", help="Whose it is.")
@click.option("--domain", required=True, help="Its host name, such as shop.example.")
@click.option("--timezone", default="UTC", show_default=True, help="IANA name.")
@click.option("--name", default="", help="What it is called; the domain when not given.")
@id_option
@as_json
@click.pass_obj
def create(
    tidemark: Tidemark,
    organization: str,
    domain: str,
    timezone: str,
    name: str,
    record_id: str | None,
    json: bool,
) -> None:
    """Create a website."""
    with tidemark.store() as store:
        website = new_website(organization, domain, now_ms(), timezone, name, record_id)
        record = create_owned(store, website)
    print_record(shown(record), json)


@websites.command()
@click.argument("record_id", metavar="ID")
@click.option("--domain", help="Its host name.")
@click.option("--timezone", help="IANA name.")
@click.option("--name", help="What it is called.")
@as_json
@click.pass_obj
def update(
    tidemark: Tidemark,
    record_id: str,
    domain: str | None,
    timezone: str | None,
    name: str | None,
    json: bool,
) -> None:
    """Change what is given."""
    with tidemark.store() as store:
        changes = given(
            domain=domain and checked_domain(domain),
            timezone=timezone and checked_timezone(timezone),
            name=name and checked_name("name", name),
        )
        record = store.update(Website, record_id, now_ms(), **changes)
    print_record(shown(record), json)


add_reading(websites, Website, ("id", "organizationId", "domain", "timezone", "name"))
