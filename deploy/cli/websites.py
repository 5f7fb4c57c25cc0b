"""`tidemark websites`: websites and their allowed origins; trackers send the id as client id."""

from typing import Any

import click
import msgspec

from deploy.cli.context import CliContext, id_option, require_changes
from deploy.cli.record_commands import (
    RecordGroup,
    changed_keep_days,
    keep_days_option,
    no_keep_days_option,
    organization_option,
)
from schemas.errors import Malformed
from schemas.http.validation_messages import rule_message
from schemas.registry import RegistryStore, Website
from schemas.registry.privacy import Privacy, PrivacyChanges
from schemas.registry.validation import (
    new_website,
    validate_website_fields,
    with_website_changes,
)
from schemas.runtime.clock import now_ms

origin_option = click.option(
    "--allow-origin",
    "allowed_origins",
    metavar="ORIGIN",
    multiple=True,
    help="Origin from which browsers may send without a key, such as https://shop.example or "
    "https://*.shop.example; repeat for several. Default: any site.",
)


def _parse_privacy(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Any] | None:
    """`doNotTrack=drop`, `neverStoreQuery=token,sess*`; None when the option was not given."""
    if not values:
        return None
    members: dict[str, object] = {}
    for value in values:
        name, separator, text = value.partition("=")
        if not separator:
            raise click.BadParameter(f"'{value}' is not MEMBER=VALUE, such as doNotTrack=drop")
        members[name] = _member_value(name, text)
    try:
        return msgspec.convert(members, PrivacyChanges).values()
    except msgspec.ValidationError as error:
        rule, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`")
        raise click.BadParameter(f"'{name}' {rule_message(rule)}" if name else rule) from None
    except Malformed as error:
        raise click.BadParameter(str(error)) from None


def _member_value(name: str, text: str) -> object:
    if name.startswith("neverStore"):
        return [each.strip() for each in text.split(",") if each.strip()]
    return {"true": True, "false": False}.get(text, text)


privacy_option = click.option(
    "--privacy",
    metavar="MEMBER=VALUE",
    multiple=True,
    callback=_parse_privacy,
    help="What is left out of its items, such as doNotTrack=drop or neverStoreQuery=token,sess*; "
    f"repeat for several. Members: {', '.join(Privacy.__struct_encode_fields__)}.",
)
websites = RecordGroup(
    Website,
    "websites",
    "Websites of organizations.",
    ("id", "organizationId", "domain", "timezone", "name"),
    restorable=True,
)


@websites.creates(
    organization_option,
    click.option("--domain", required=True, help="Host name, such as shop.example."),
    click.option(
        "--timezone", default="UTC", show_default=True, help="IANA time zone of its days."
    ),
    click.option("--name", default="", help="Name. Default: the domain."),
    id_option,
    origin_option,
    keep_days_option,
    privacy_option,
)
def create(
    _tidemark: CliContext, _store: RegistryStore, organization: str, **fields: Any
) -> tuple[Website, dict[str, object]]:
    """Create a website."""
    return new_website(organization, now_ms=now_ms(), **fields), {}


@websites.updates(
    click.option("--domain", help="Host name."),
    click.option("--timezone", help="IANA time zone of its days."),
    click.option("--name", help="Name."),
    origin_option,
    click.option(
        "--any-origin", is_flag=True, help="Clear the list: accept browsers from any site."
    ),
    keep_days_option,
    no_keep_days_option,
    privacy_option,
)
def update(
    _tidemark: CliContext,
    store: RegistryStore,
    website_id: str,
    allowed_origins: tuple[str, ...],
    any_origin: bool,
    keep_days: dict[str, int] | None,
    no_keep_days: bool,
    privacy: dict[str, Any] | None,
    **fields: str | None,
) -> Website:
    """Update the given fields; --allow-origin replaces the whole list.

    Members of --privacy that are not given stay; a list replaces the one before.
    """
    if allowed_origins and any_origin:
        raise click.UsageError("use either --allow-origin or --any-origin, not both")
    origins = allowed_origins if allowed_origins or any_origin else None
    days = changed_keep_days(keep_days, no_keep_days)
    changes = validate_website_fields(
        require_changes(**fields, allowed_origins=origins, keep_days=days, privacy=privacy)
    )
    website = store.get(Website, website_id)
    return store.revise(website, now_ms(), lambda it: with_website_changes(it, changes))
