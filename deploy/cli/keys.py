"""`tidemark keys`: API keys; a key is shown once, only its hash is stored."""

from collections.abc import Callable
from typing import Any

import click

from deploy.cli.context import (
    CliContext,
    InstantParam,
    as_json,
    print_record,
    record_fields,
    require_changes,
)
from deploy.cli.record_commands import RecordGroup, organization_option
from deploy.demo.first_start import replace_demo_key
from schemas.registry import KEY_SCOPES, Key, RegistryStore, Website
from schemas.registry.key_rotation import (
    DEFAULT_OVERLAP_HOURS,
    MAX_OVERLAP_HOURS,
    rotate_key,
)
from schemas.registry.validation import new_key, validate_key_fields
from schemas.runtime.clock import format_instant, now_ms

name_option = click.option("--name", help="Name of the key.")
expires_option = click.option(
    "--expires-at", type=InstantParam(), metavar="INSTANT", help="Expiry time, ISO 8601."
)


def scope_option(required: bool) -> Callable[[Any], Any]:
    """The --scope option, required by `create` but not by `update`."""
    return click.option(
        "--scope",
        "scopes",
        type=click.Choice(KEY_SCOPES),
        multiple=True,
        required=required,
        help="Permission; repeat for several.",
    )


keys = RecordGroup(
    Key,
    "keys",
    "API keys of organizations.",
    ("id", "organizationId", "websiteId", "name", "scopes", "expiresAt", "revokedAt", "lastUsedAt"),
)


@keys.creates(
    organization_option,
    click.option(
        "--website",
        metavar="ID",
        help="Restrict the key to one website. Default: all of the organization.",
    ),
    scope_option(required=True),
    name_option,
    expires_option,
)
def create(
    _tidemark: CliContext,
    store: RegistryStore,
    organization: str,
    website: str | None,
    name: str | None,
    **fields: Any,
) -> tuple[Key, dict[str, object]]:
    """Create an API key. The key is shown once and cannot be retrieved later."""
    if website is not None and store.get(Website, website).organization_id != organization:
        raise click.UsageError(
            f"website '{website}' does not belong to organization '{organization}'"
        )
    key, text = new_key(
        organization, now_ms=now_ms(), website_id=website, name=name or "", **fields
    )
    return key, {"key": text}


@keys.updates(
    scope_option(required=False),
    name_option,
    expires_option,
    click.option("--revoke", is_flag=True, help="Revoke the key immediately."),
)
def update(
    _tidemark: CliContext,
    store: RegistryStore,
    key_id: str,
    scopes: tuple[str, ...],
    revoke: bool,
    **fields: Any,
) -> Key:
    """Update the given fields; --scope replaces all permissions."""
    now = now_ms()
    changes = require_changes(**fields, scopes=scopes or None, revoked_at=now if revoke else None)
    return store.update(Key, key_id, now, **validate_key_fields(changes))


@keys.command()
@click.argument("record_id", metavar="ID")
@click.option(
    "--overlap-hours",
    type=click.FloatRange(0, MAX_OVERLAP_HOURS),
    default=DEFAULT_OVERLAP_HOURS,
    show_default=True,
    help="Hours for which the old key stays valid; 0: revoke it now.",
)
@expires_option
@as_json
@click.pass_obj
def rotate(
    tidemark: CliContext, record_id: str, overlap_hours: float, expires_at: int | None, json: bool
) -> None:
    """Rotate a key: create one with the same permissions, and expire the old one.

    The new key is shown once, and ends as the old one would have without --expires-at. Deploy it
    everywhere before the old one expires.
    """
    with tidemark.open_registry() as store:
        ends_at = expires_at or store.get(Key, record_id).expires_at
        rotation = rotate_key(store, record_id, now_ms(), overlap_hours, ends_at)
    old = rotation.replaced
    replace_demo_key(tidemark.settings.data, old.id, rotation.text)
    old_ends_at = format_instant(old.expires_at)
    more = {"key": rotation.text, "replaces": old.id, "replacedEndsAt": old_ends_at}
    print_record(record_fields(rotation.key, **more), json)
