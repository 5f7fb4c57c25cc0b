"""Creates and validates new records.

Raises Malformed with the field and the rule.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from schemas.errors import Malformed
from schemas.lake.item_changes import InvalidChange, is_position, parse_change
from schemas.plans import LIMIT_NAMES, PLANS
from schemas.registry.allowed_origins import validate_origins
from schemas.registry.api_keys import KEY_SCOPES, generate_key
from schemas.registry.ids import random_id
from schemas.registry.keep_days import validate_keep_days
from schemas.registry.link_validation import validate_field, validate_text, validate_url
from schemas.registry.privacy import Privacy, validate_privacy
from schemas.registry.records import (
    Erasure,
    ErasureState,
    Import,
    Key,
    Link,
    Organization,
    Replay,
    ReplayState,
    Selector,
    Website,
)
from schemas.registry.tombstones import TombstoneKey
from schemas.registry.unseen_text import refuse_null
from schemas.runtime.time_zone_names import time_zones

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
DOMAIN_PATTERN = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*(:\d{{1,5}})?")
URL_PATTERN = re.compile(r"^https?://([^/?#]+).*$", re.DOTALL)
MAX_ERASED_LENGTH = 8_192
"""Characters of an id or a property value: neither is cut when it is stored, and ids that are too
long to be stored are in the quarantine, whole."""
MAX_PROPERTY_NAME = 255
EMAIL_LOCAL_PATTERN = re.compile(r"[^\s@\x00-\x1f\x7f<>(),:;\"\[\]\\]{1,64}")
ID_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,32}")
SLUG_PATTERN = re.compile(r"[A-Za-z0-9_-]{3,50}")


def new_organization(
    name: str,
    plan: str,
    now_ms: int,
    limits: Mapping[str, int] | None = None,
    record_id: str | None = None,
    keep_days: Mapping[str, int] | None = None,
) -> Organization:
    """A new organization; `record_id` re-creates one that was lost."""
    return Organization(
        id=validate_id(record_id) if record_id is not None else f"org_{random_id(10)}",
        name=validate_name("name", name),
        plan=validate_plan(plan),
        limits=validate_limits(limits or {}),
        keep_days=validate_keep_days(keep_days or {}),
        created_at=now_ms,
        updated_at=now_ms,
    )


def new_website(
    organization_id: str,
    domain: str,
    now_ms: int,
    timezone: str = "UTC",
    name: str = "",
    record_id: str | None = None,
    allowed_origins: Sequence[str] = (),
    keep_days: Mapping[str, int] | None = None,
    privacy: Mapping[str, Any] | None = None,
) -> Website:
    """A new website; `record_id` re-creates one that was lost."""
    fields = validate_website_fields(
        {
            "domain": domain,
            "name": name or validate_domain(domain),
            "timezone": timezone,
            "allowed_origins": allowed_origins,
            "keep_days": keep_days or {},
        }
    )
    return Website(
        privacy=Privacy(**validate_privacy(privacy or {})),
        id=validate_id(record_id) if record_id is not None else f"web_{random_id(12)}",
        organization_id=organization_id,
        created_at=now_ms,
        updated_at=now_ms,
        **fields,
    )


def validate_website_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate fields that a caller gives for a website."""
    rules: Mapping[str, Callable[[Any], Any]] = {
        "domain": validate_domain,
        "name": lambda value: validate_name("name", value),
        "timezone": validate_timezone,
        "allowed_origins": validate_origins,
        "keep_days": validate_keep_days,
        "privacy": validate_privacy,
    }
    return {name: rules[name](value) for name, value in values.items()}


def with_website_changes(website: Website, changes: Mapping[str, Any]) -> Website:
    """The website with validated fields; of `privacy`, members that are not given stay."""
    privacy = structs.replace(website.privacy, **changes.get("privacy", {}))
    return structs.replace(website, **{**changes, "privacy": privacy})


def new_link(
    organization_id: str,
    name: str,
    target_url: str,
    now_ms: int,
    *,
    slug: str | None = None,
    apps: Sequence[str] = (),
    **optional: Any,
) -> Link:
    """A new link with fields of `LINK_FIELDS`; `apps` are further URL schemes."""
    required = {"name": name, "target_url": target_url}
    return Link(
        id=f"lnk_{random_id(12)}",
        organization_id=organization_id,
        slug=validate_slug(slug) if slug is not None else random_id(8),
        created_at=now_ms,
        updated_at=now_ms,
        **validate_link_fields({**required, **optional}, apps),
    )


def validate_link_fields(values: Mapping[str, Any], apps: Sequence[str] = ()) -> dict[str, Any]:
    """Validate fields that a caller gives for a link; empty optional ones become None."""
    rules: Mapping[str, Callable[[Any], Any]] = {
        "name": lambda value: validate_name("name", value),
        "target_url": lambda value: validate_url("targetUrl", value, apps),
        "slug": validate_slug,
    }
    return {
        name: rules[name](value) if name in rules else validate_field(name, value, apps)
        for name, value in values.items()
    }


def new_import(
    website: Website, name: str, now_ms: int, fingerprint: str = "", product: str = ""
) -> Import:
    return Import(
        id=f"imp_{random_id(12)}",
        organization_id=website.organization_id,
        website_id=website.id,
        name=validate_name("name", name),
        fingerprint=fingerprint,
        product=product,
        created_at=now_ms,
        updated_at=now_ms,
    )


def new_erasure(
    organization_id: str,
    selector: Selector,
    values: Sequence[str],
    now_ms: int,
    key: TombstoneKey,
    *,
    property_name: str = "",
    website_id: str | None = None,
    link_id: str | None = None,
    dry_run: bool = False,
) -> Erasure:
    """An erasure of these values; a dry run of one keeps them as hashes only."""
    member = (property_name and "property.value") or selector.value
    if selector is Selector.PROPERTY:
        validate_erased("property.name", property_name, MAX_PROPERTY_NAME)
    for value in values:
        validate_erased(member, value)
    return Erasure(
        id=f"era_{random_id(12)}",
        organization_id=organization_id,
        website_id=website_id,
        link_id=link_id,
        selector=selector,
        property_name=property_name,
        value_hashes=tuple(key.tombstone(selector, value, property_name) for value in values),
        erased_values=() if dry_run else tuple(f"{selector}:{value}" for value in values),
        state=ErasureState.COUNTING if dry_run else ErasureState.PENDING,
        created_at=now_ms,
        updated_at=now_ms,
    )


def new_replay(
    organization_id: str,
    now_ms: int,
    *,
    website_id: str | None,
    link_id: str | None,
    days: int,
    stage: str | None = None,
    reason_contains: str | None = None,
    position: str | None = None,
    changes: Sequence[str] = (),
    dry_run: bool = False,
) -> Replay:
    """A replay of the items of a website or a link."""
    if position is not None and not is_position(position):
        raise Malformed("'position' must be TOPIC/PARTITION/OFFSET/SEQ, as in events/0/12/3")
    refuse_null("reasonContains", reason_contains)
    refuse_null("position", position)
    for change in changes:
        refuse_null("set", change)
        try:
            parse_change(change)
        except InvalidChange as error:
            raise Malformed(f"'set' has {error}") from None
    return Replay(
        id=f"rpl_{random_id(12)}",
        organization_id=organization_id,
        website_id=website_id,
        link_id=link_id,
        days=days,
        stage=stage,
        reason_contains=reason_contains,
        position=position,
        item_changes=tuple(changes),
        state=ReplayState.PLANNING if dry_run else ReplayState.PENDING,
        created_at=now_ms,
        updated_at=now_ms,
    )


def validate_erased(member: str, value: str, most: int = MAX_ERASED_LENGTH) -> str:
    """A value that identifies rows to erase."""
    if not 1 <= len(value) <= most:
        raise Malformed(f"'{member}' must have 1 to {most:,} characters")
    return value


def new_key(
    organization_id: str,
    scopes: Sequence[str],
    now_ms: int,
    website_id: str | None = None,
    name: str = "",
    expires_at: int | None = None,
    person_id: str | None = None,
) -> tuple[Key, str]:
    """A new key, and its text to show once."""
    new = generate_key()
    key = Key(
        id=new.id,
        organization_id=organization_id,
        website_id=website_id,
        person_id=person_id,
        secret_hash=new.secret_hash,
        created_at=now_ms,
        updated_at=now_ms,
        **validate_key_fields({"scopes": scopes, "name": name, "expires_at": expires_at}),
    )
    return key, new.text


def validate_key_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate fields that a caller gives for a key."""
    rules: Mapping[str, Callable[[Any], Any]] = {
        "scopes": validate_scopes,
        "name": lambda value: value and validate_name("name", value),
    }
    return {name: rules[name](v) if name in rules else v for name, v in values.items()}


def validate_id(value: str) -> str:
    if not ID_PATTERN.fullmatch(value):
        raise Malformed("'id' must have 1 to 32 letters, digits, '_' or '-'")
    return value


def validate_name(field: str, value: str) -> str:
    return validate_text(field, value, 255)


def validate_plan(value: str) -> str:
    if value not in PLANS:
        raise Malformed(f"'plan' is '{value}'; it must be one of {', '.join(PLANS)}")
    return value


def validate_limits(value: Mapping[str, int]) -> dict[str, int]:
    for group, limit in value.items():
        if group not in LIMIT_NAMES:
            raise Malformed(f"'limits' has '{group}'; groups are {', '.join(LIMIT_NAMES)}")
        if not 1 <= limit <= 1_000_000_000:
            raise Malformed(f"limit of '{group}' must be 1 to 1,000,000,000 per minute")
    return dict(value)


def validate_domain(value: str) -> str:
    """The host name of a domain, also of a copied address: `https://Shop.example/de?a=1`."""
    domain = URL_PATTERN.sub(r"\1", value.strip().lower()).rstrip("/")
    if not DOMAIN_PATTERN.fullmatch(domain):
        raise Malformed(f"'domain' is '{value}'; give a host name such as shop.example")
    return domain


def validate_email(value: str) -> str:
    """An e-mail address of ASCII, in lower case: one `@`, a host name; mail proves the rest."""
    local, _, domain = value.rpartition("@")
    if (
        not value.isascii()
        or not EMAIL_LOCAL_PATTERN.fullmatch(local)
        or not DOMAIN_PATTERN.fullmatch(domain)
    ):
        raise Malformed(f"'email' is '{value[:80]}'; give an address such as anna@shop.example")
    return value


def validate_timezone(value: str) -> str:
    if value not in time_zones():
        raise Malformed(f"'timezone' is '{value}'; give an IANA name such as Europe/Berlin")
    return value


def validate_slug(value: str) -> str:
    if not SLUG_PATTERN.fullmatch(value):
        raise Malformed("'slug' must have 3 to 50 letters, digits, '_' or '-'")
    return value


def validate_scopes(value: Sequence[str]) -> tuple[str, ...]:
    unknown = [scope for scope in value if scope not in KEY_SCOPES]
    if unknown or not value:
        problem = ", ".join(unknown) or "empty"
        raise Malformed(f"'scopes' is {problem}; scopes are {', '.join(KEY_SCOPES)}")
    return tuple(dict.fromkeys(value))
