"""Validates URLs and texts of short links.

Raises Malformed with the field and the rule.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import fields

from schemas.errors import Malformed
from schemas.registry.records import LINK_FIELDS, Link, LinkFieldKind
from schemas.registry.unseen_text import refuse_null, require_seen

CONTROL_PATTERN = re.compile(r"[\x00-\x20\x7f]")

WEB_SCHEMES = ("http", "https")

WIRE_NAMES: Mapping[str, str] = {field.name: field.encode_name for field in fields(Link)}
APP_URL_NAMES = frozenset(
    WIRE_NAMES[name]
    for name in (
        "target_url",
        *(n for n, field in LINK_FIELDS.items() if field.kind is LinkFieldKind.TARGET_URL),
    )
)
"""Wire names of the fields that may have an app scheme."""


def validate_field(name: str, value: Any, apps: Sequence[str] = ()) -> Any:
    """Validate an optional field of a link; an empty URL or text means None."""
    field, member = LINK_FIELDS[name], WIRE_NAMES[name]
    if field.kind in (LinkFieldKind.ID, LinkFieldKind.INSTANT):
        refuse_null(member, value)
        return value
    if not value:
        return None
    if field.kind is LinkFieldKind.TEXT:
        return validate_text(member, value, field.max_length)
    return validate_url(member, value, apps if field.kind is LinkFieldKind.TARGET_URL else ())


def validate_url(member: str, value: str, apps: Sequence[str] = ()) -> str:
    """Validate the URL of a redirect: http(s) or one of the app schemes."""
    schemes = " or ".join([*WEB_SCHEMES, *apps])
    rule = f"'{member}' must be an {schemes} URL of at most 2,048 characters without user name"
    if member in APP_URL_NAMES:
        rule += "; set TIDEMARK_LINK_SCHEMES to allow app schemes"
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        raise Malformed(rule) from None
    destination = parts.hostname if parts.scheme in WEB_SCHEMES else parts.netloc or parts.path
    if (
        parts.scheme not in (*WEB_SCHEMES, *apps)
        or not destination
        or parts.username is not None
        or CONTROL_PATTERN.search(value)
        or len(value) > 2048
    ):
        raise Malformed(rule)
    return value


def validate_text(member: str, value: str, max_length: int) -> str:
    """Validate a text that is shown to people."""
    if not 1 <= len(value.strip()) <= max_length:
        raise Malformed(f"'{member}' must have 1 to {max_length} characters")
    refuse_null(member, value)
    return require_seen(member, value.strip())
