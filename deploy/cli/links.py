"""`tidemark links`: short links, which the collector redirects and counts."""

from collections.abc import Callable
from typing import Any

import click

from deploy.cli.context import (
    CliContext,
    InstantParam,
    as_json,
    combine_options,
    print_record,
    record_fields,
    require_changes,
)
from deploy.cli.record_commands import add_record_commands, create_owned
from schemas.registry import Link
from schemas.registry.records import LINK_FIELDS, LinkField, LinkFieldKind
from schemas.registry.validation import new_link, validate_link_fields
from schemas.runtime.app_schemes import parse_app_schemes
from schemas.runtime.clock import now_ms
from schemas.runtime.service_urls import public_collector_url


def _link_option(name: str, field: LinkField) -> Callable[[Any], Any]:
    """The option of an optional field."""
    flag = f"--{name.replace('_', '-')}"
    if field.kind is LinkFieldKind.INSTANT:
        return click.option(flag, type=InstantParam(), metavar="INSTANT", help=field.description)
    is_url = field.kind in (LinkFieldKind.WEB_URL, LinkFieldKind.TARGET_URL)
    return click.option(flag, metavar="URL" if is_url else None, help=field.description)


link_options = combine_options(
    click.option("--slug", help="Slug, the part after /l/. Default: random."),
    *(_link_option(name, field) for name, field in LINK_FIELDS.items()),
)


@click.group()
def links() -> None:
    """Short links of organizations."""


@links.command()
@click.option("--organization", required=True, metavar="ID", help="Organization id.")
@click.option("--name", required=True, help="Name.")
@click.option("--target-url", required=True, metavar="URL", help="Target URL.")
@link_options
@as_json
@click.pass_obj
def create(
    tidemark: CliContext, /, organization: str, name: str, target_url: str, json: bool, **more: Any
) -> None:
    """Create a short link and print its URL and that of its QR code on this machine."""
    with tidemark.open_registry() as store:
        apps = parse_app_schemes(tidemark.settings.link_schemes)
        link = new_link(organization, name, target_url, now_ms(), apps=apps, **more)
        record = create_owned(store, link)
    address = f"{public_collector_url(tidemark.settings)}/l/{record.slug}"
    print_record(record_fields(record, shortUrl=address, qrCodeUrl=f"{address}/qr.svg"), json)


@links.command()
@click.argument("record_id", metavar="ID")
@click.option("--name", help="Name.")
@click.option("--target-url", metavar="URL", help="Target URL.")
@link_options
@as_json
@click.pass_obj
def update(tidemark: CliContext, /, record_id: str, json: bool, **options: Any) -> None:
    """Update the given fields."""
    with tidemark.open_registry() as store:
        changes = validate_link_fields(
            require_changes(**options), parse_app_schemes(tidemark.settings.link_schemes)
        )
        record = store.update(Link, record_id, now_ms(), **changes)
    print_record(record_fields(record), json)


add_record_commands(
    links, Link, ("id", "organizationId", "name", "slug", "targetUrl", "externalId")
)
