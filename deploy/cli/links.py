"""`tidemark links`: short links, which the collector redirects and counts."""

from collections.abc import Callable
from typing import Any

import click

from deploy.cli.context import CliContext, InstantParam, combine_options, require_changes
from deploy.cli.record_commands import RecordGroup, organization_option
from schemas.registry import Link, RegistryStore
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
links = RecordGroup(
    Link,
    "links",
    "Short links of organizations.",
    ("id", "organizationId", "name", "slug", "targetUrl", "externalId"),
)


@links.creates(
    organization_option,
    click.option("--name", required=True, help="Name."),
    click.option("--target-url", required=True, metavar="URL", help="Target URL."),
    link_options,
)
def create(
    tidemark: CliContext, _store: RegistryStore, organization: str, **fields: Any
) -> tuple[Link, dict[str, object]]:
    """Create a short link and print its URL and that of its QR code on this machine."""
    apps = parse_app_schemes(tidemark.settings.link_schemes)
    link = new_link(organization, now_ms=now_ms(), apps=apps, **fields)
    address = f"{public_collector_url(tidemark.settings)}/l/{link.slug}"
    return link, {"shortUrl": address, "qrCodeUrl": f"{address}/qr.svg"}


@links.updates(
    click.option("--name", help="Name."),
    click.option("--target-url", metavar="URL", help="Target URL."),
    link_options,
)
def update(
    tidemark: CliContext, store: RegistryStore, link_id: str, **fields: str | int | None
) -> Link:
    """Update the given fields."""
    apps = parse_app_schemes(tidemark.settings.link_schemes)
    changes = validate_link_fields(require_changes(**fields), apps)
    return store.update(Link, link_id, now_ms(), **changes)
