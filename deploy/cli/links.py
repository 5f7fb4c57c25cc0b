"""`tidemark links`: short links, which the collector redirects and counts."""

from collections.abc import Sequence
from typing import Any

import click

from deploy.cli.context import (
    Instant,
    Tidemark,
    as_json,
    given,
    options,
    print_record,
    shown,
)
from deploy.cli.record_commands import add_reading, create_owned
from deploy.local.processes.readiness import collect_address
from schemas.registry import Link
from schemas.registry.link_validation import TEXTS, URLS, app_schemes, checked_member
from schemas.registry.validation import checked_name, checked_slug, new_link
from schemas.runtime.clock import now_ms

extras = options(
    click.option("--slug", help="Its last part, after /l/; random when not given."),
    click.option("--external-id", help="An id of somebody else's, to find it by."),
    click.option("--expires-at", type=Instant(), metavar="INSTANT", help="ISO 8601."),
    click.option("--expired-redirect-url", metavar="URL", help="Where it leads after that."),
    click.option("--ios-url", metavar="URL", help="Where it leads on an iPhone or iPad."),
    click.option("--android-url", metavar="URL", help="Where it leads on Android."),
    click.option("--og-title", help="What previews of the link are called."),
    click.option("--og-description", help="What they say."),
    click.option("--og-image-url", metavar="URL", help="The picture that they show."),
    click.option("--og-video-url", metavar="URL", help="The video that they show."),
)


@click.group()
def links() -> None:
    """Short links of organizations."""


@links.command()
@click.option("--organization", required=True, metavar="ID", help="Whose it is.")
@click.option("--name", required=True, help="What it is called.")
@click.option("--target-url", required=True, metavar="URL", help="Where it leads.")
@extras
@as_json
@click.pass_obj
def create(
    tidemark: Tidemark, /, organization: str, name: str, target_url: str, json: bool, **more: Any
) -> None:
    """Create a link, and show where it lives on this machine."""
    with tidemark.store() as store:
        apps = app_schemes(tidemark.settings.link_schemes)
        link = new_link(organization, name, target_url, now_ms(), apps=apps, **more)
        record = create_owned(store, link)
    address = f"{collect_address(tidemark.settings)}/l/{record.slug}"
    print_record(shown(record, shortUrl=address), json)


@links.command()
@click.argument("record_id", metavar="ID")
@click.option("--name", help="What it is called.")
@click.option("--target-url", metavar="URL", help="Where it leads.")
@extras
@as_json
@click.pass_obj
def update(tidemark: Tidemark, /, record_id: str, json: bool, **options: Any) -> None:
    """Change what is given."""
    with tidemark.store() as store:
        changes = _checked(given(**options), app_schemes(tidemark.settings.link_schemes))
        record = store.update(Link, record_id, now_ms(), **changes)
    print_record(shown(record), json)


def _checked(changes: dict[str, Any], apps: Sequence[str]) -> dict[str, Any]:
    for name in {*URLS, *TEXTS} & changes.keys():
        changes[name] = checked_member(name, changes[name], apps)
    if "slug" in changes:
        changes["slug"] = checked_slug(changes["slug"])
    if "name" in changes:
        changes["name"] = checked_name("name", changes["name"])
    return changes


add_reading(links, Link, ("id", "organizationId", "name", "slug", "targetUrl", "externalId"))
