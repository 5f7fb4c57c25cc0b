"""The bodies of requests and responses about API keys; the secret is in no list."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from query.request.instants import Instant
from query.response.bodies import PageMeta
from schemas.registry import Key, KeyScope
from schemas.registry.api_keys import KEY_PREFIX
from schemas.registry.key_rotation import DEFAULT_OVERLAP_HOURS, MAX_OVERLAP_HOURS
from schemas.runtime.clock import format_instant

Name = Annotated[str, Meta(max_length=255)]
Scopes = Annotated[list[KeyScope], Meta(min_length=1, description="`admin` implies all others")]
Expiry = Annotated[Instant, Meta(description="ISO 8601 or Unix milliseconds; null: never")]
WebsiteId = Annotated[
    str | None, Meta(description="website that the key is restricted to; null: all")
]
KeyState = Literal["active", "expired", "revoked"]


class NewApiKey(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that creates an API key of the organization."""

    scopes: Scopes
    name: Name = ""
    website_id: WebsiteId | UnsetType = UNSET
    expires_at: Expiry = None


class ApiKeyChanges(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that updates an API key: absent fields stay, scopes replace the others."""

    scopes: Scopes | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    expires_at: Expiry | UnsetType = UNSET


class KeyRotation(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that rotates an API key."""

    overlap_hours: Annotated[
        float,
        Meta(ge=0, le=MAX_OVERLAP_HOURS, description="hours for which the old key stays valid"),
    ] = DEFAULT_OVERLAP_HOURS
    expires_at: Annotated[
        Expiry | UnsetType, Meta(description="when the new key ends; by default as the old one")
    ] = UNSET


class ApiKeyResource(Struct, rename="camel", kw_only=True):
    """An API key without its secret."""

    id: str
    prefix: Annotated[str, Meta(description="how the text of the key begins")]
    organization_id: str
    website_id: WebsiteId
    name: str
    scopes: list[str]
    state: KeyState
    expires_at: str | None
    revoked_at: str | None
    last_used_at: Annotated[str | None, Meta(description="exact to an hour")]
    created_at: str
    updated_at: str


class CreatedApiKey(ApiKeyResource, kw_only=True):
    """A new API key with its text, which is never shown again."""

    key: str
    replaces: Annotated[str, Meta(description="id of the rotated key")] | UnsetType = UNSET
    replaced_ends_at: Annotated[str, Meta(description="when that one ends")] | UnsetType = UNSET


class ApiKeyResponse(Struct):
    """One API key."""

    success: Literal[True]
    data: ApiKeyResource


class CreatedApiKeyResponse(Struct):
    """One new API key."""

    success: Literal[True]
    data: CreatedApiKey


class ApiKeyListResponse(Struct):
    """One page of API keys."""

    success: Literal[True]
    data: list[ApiKeyResource]
    meta: PageMeta


def key_resource(key: Key, now_ms: int) -> ApiKeyResource:
    """An API key as responses show it."""
    return ApiKeyResource(
        id=key.id,
        prefix=f"{KEY_PREFIX}_{key.id}_",
        organization_id=key.organization_id,
        website_id=key.website_id,
        name=key.name,
        scopes=list(key.scopes),
        state=_state(key, now_ms),
        expires_at=_instant(key.expires_at),
        revoked_at=_instant(key.revoked_at),
        last_used_at=_instant(key.last_used_at),
        created_at=str(format_instant(key.created_at)),
        updated_at=str(format_instant(key.updated_at)),
    )


def _state(key: Key, now_ms: int) -> KeyState:
    if key.is_active(now_ms):
        return "active"
    return "expired" if key.revoked_at is None else "revoked"


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)
