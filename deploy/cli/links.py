"""`tidemark links`: short links, which the collector redirects and counts."""

from collections.abc import Sequence
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
from deploy.local.processes.readiness import collector_url
from schemas.registry import Link
from schemas.registry.link_validation import (
    TEXT_FIELDS,
    URL_FIELDS,
    parse_app_schemes,
    validate_field,
)
from schemas.registry.validation import new_link, validate_name, validate_slug
from schemas.runtime.clock import now_ms

link_options = combine_options(
    click.option("--slug", help="Slug, the part after /l/. Default: random."),
    click.option("--external-id", help="Id of the link in your own system."),
    click.option(
        "--expires-at", type=InstantParam(), metavar="INSTANT", help="Expiry time, ISO 8601."
    ),
    click.option(
        "--expired-redirect-url", metavar="URL", help="Target after the link has expired."
    ),
    click.option("--ios-url", metavar="URL", help="Target on iOS."),
    click.option("--android-url", metavar="URL", help="Target on Android."),
    click.option("--og-title", help="Title of link previews."),
    click.option("--og-description", help="Description of link previews."),
    click.option("--og-image-url", metavar="URL", help="Image of link previews."),
    click.option("--og-video-url", metavar="URL", help="Video of link previews."),
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
    address = f"{collector_url(tidemark.settings)}/l/{record.slug}"
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
        changes = _validate_changes(
            require_changes(**options), parse_app_schemes(tidemark.settings.link_schemes)
        )
        record = store.update(Link, record_id, now_ms(), **changes)
    print_record(record_fields(record), json)


def _validate_changes(changes: dict[str, Any], apps: Sequence[str]) -> dict[str, Any]:
    for name in {*URL_FIELDS, *TEXT_FIELDS} & changes.keys():
        changes[name] = validate_field(name, changes[name], apps)
    if "slug" in changes:
        changes["slug"] = validate_slug(changes["slug"])
    if "name" in changes:
        changes["name"] = validate_name("name", changes["name"])
    return changes


add_record_commands(
    links, Link, ("id", "organizationId", "name", "slug", "targetUrl", "externalId")
)
