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
    click.option("--slug", help="Its last part, after /l/; random when not given."),
    click.option("--external-id", help="An id of somebody else's, to find it by."),
    click.option("--expires-at", type=InstantParam(), metavar="INSTANT", help="ISO 8601."),
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
@link_options
@as_json
@click.pass_obj
def create(
    tidemark: CliContext, /, organization: str, name: str, target_url: str, json: bool, **more: Any
) -> None:
    """Create a link, and show where it lives on this machine."""
    with tidemark.open_registry() as store:
        apps = parse_app_schemes(tidemark.settings.link_schemes)
        link = new_link(organization, name, target_url, now_ms(), apps=apps, **more)
        record = create_owned(store, link)
    address = f"{collector_url(tidemark.settings)}/l/{record.slug}"
    print_record(record_fields(record, shortUrl=address), json)


@links.command()
@click.argument("record_id", metavar="ID")
@click.option("--name", help="What it is called.")
@click.option("--target-url", metavar="URL", help="Where it leads.")
@link_options
@as_json
@click.pass_obj
def update(tidemark: CliContext, /, record_id: str, json: bool, **options: Any) -> None:
    """Change what is given."""
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
