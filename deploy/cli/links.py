"""`tidemark links`: short links, which the collector redirects and counts."""

from typing import Any

import click

from deploy.cli.common import Instant, Tidemark, as_json, given, options, print_record, shown
from deploy.cli.reading import add_reading
from schemas.clock import now_ms
from schemas.registry import Link
from schemas.registry.making import checked_name, checked_slug, checked_url, new_link

extras = options(
    click.option("--slug", help="Its last part, after /l/; random when not given."),
    click.option("--external-id", help="An id of somebody else's, to find it by."),
    click.option("--expires-at", type=Instant(), metavar="INSTANT", help="ISO 8601."),
    click.option("--expired-redirect-url", metavar="URL", help="Where it leads after that."),
    click.option("--ios-url", metavar="URL", help="Where it leads on an iPhone or iPad."),
    click.option("--android-url", metavar="URL", help="Where it leads on Android."),
)

URLS = {
    "target_url": "targetUrl",
    "expired_redirect_url": "expiredRedirectUrl",
    "ios_url": "iosUrl",
    "android_url": "androidUrl",
}


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
    """Create a link."""
    with tidemark.store() as store:
        record = store.create(new_link(organization, name, target_url, now_ms(), **more))
    print_record(shown(record), json)


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
        record = store.update(Link, record_id, now_ms(), **_checked(given(**options)))
    print_record(shown(record), json)


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    for name, wire in URLS.items():
        if name in changes:
            changes[name] = checked_url(wire, changes[name])
    if "slug" in changes:
        changes["slug"] = checked_slug(changes["slug"])
    if "name" in changes:
        changes["name"] = checked_name("name", changes["name"])
    return changes


add_reading(links, Link, ("id", "organizationId", "name", "slug", "targetUrl", "externalId"))
