"""API keys: create, list, read, update, rotate, revoke, delete.

Only `admin` keys manage keys; one that is restricted to a website manages the keys of that website.
The secret of a key is in the response that creates it only.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from query.dependencies import BODY_ERRORS
from query.request.instants import Instant, parse_instant
from query.resources.pagination import page_parameters
from query.resources.resource import (
    NO_STORE,
    Access,
    Action,
    Call,
    Create,
    Created,
    List,
    Resource,
    Show,
    Update,
    Verb,
    endpoints,
    given_members,
)
from query.response.bodies import response_types
from schemas.errors import Conflict, Malformed
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.registry import Key, KeyScope
from schemas.registry.api_keys import KEY_PREFIX
from schemas.registry.key_rotation import DEFAULT_OVERLAP_HOURS, MAX_OVERLAP_HOURS, rotate_key
from schemas.registry.record_limits import MAX_RECORDS
from schemas.registry.validation import new_key, validate_key_fields
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
    person_id: Annotated[
        str | None,
        Meta(description="person that it belongs to, whose roles limit it; null: nobody"),
    ]
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


class CreatedApiKeyResponse(Struct):
    """One new API key."""

    success: Literal[True]
    data: CreatedApiKey


def key_resource(call: Call, key: Key) -> ApiKeyResource:
    """An API key as responses show it."""
    return shown_key(key, call.now_ms)


def shown_key(key: Key, now_ms: int) -> ApiKeyResource:
    """An API key as responses show it."""
    return ApiKeyResource(
        id=key.id,
        prefix=f"{KEY_PREFIX}_{key.id}_",
        organization_id=key.organization_id,
        website_id=key.website_id,
        person_id=key.person_id,
        name=key.name,
        scopes=list(key.scopes),
        state=_state(key, now_ms),
        expires_at=_instant(key.expires_at),
        revoked_at=_instant(key.revoked_at),
        last_used_at=_instant(key.last_used_at),
        created_at=str(format_instant(key.created_at)),
        updated_at=str(format_instant(key.updated_at)),
    )


async def make_key(call: Call) -> Created:
    """A new key with its text; by default for the website of a key that is restricted to one."""
    body, key = await call.body(NewApiKey), call.key
    website_id = key.website_id if body.website_id is UNSET else body.website_id
    if website_id is not None or key.website_id is not None:
        website_id = authorize_website(call.dependencies.registry, key, str(website_id)).id
    now, ends_at = call.now_ms, parse_instant("expiresAt", body.expires_at)
    created, text = new_key(key.organization_id, body.scopes, now, website_id, body.name, ends_at)
    if not created.is_active(now):
        raise Malformed(ENDED)
    return Created(created, {"key": text}, NO_STORE)


def listed_keys(call: Call) -> dict[str, str | None]:
    """Keys of the organization, or those of one website."""
    website_id = call.parameters.get("website_id") or call.key.website_id
    if website_id is not None:
        authorize_website(call.dependencies.registry, call.key, website_id)
    return {"organization_id": call.key.organization_id, "website_id": website_id}


def key_changes(_call: Call, body: ApiKeyChanges) -> dict[str, Any]:
    """Validated fields of an update."""
    changes = given_members(body)
    if "expires_at" in changes:
        changes["expires_at"] = parse_instant("expiresAt", changes["expires_at"])
    return validate_key_fields(changes)


async def rotate(call: Call, old: Key) -> Response:
    """POST /v1/keys/{id}/rotate: 201 with the new key; 409 when the old one has ended."""
    body, now, ends_at = await call.body(KeyRotation), call.now_ms, old.expires_at
    if body.expires_at is not UNSET:
        ends_at = parse_instant("expiresAt", body.expires_at)
        if ends_at is not None and ends_at <= now:
            raise Malformed(ENDED)
    rotation = await call.write(
        Key, lambda store: rotate_key(store, old.id, now, body.overlap_hours, ends_at)
    )
    once = {
        "key": rotation.text,
        "replaces": rotation.replaced.id,
        "replacedEndsAt": format_instant(rotation.replaced.expires_at),
    }
    return KEYS.respond(call, Created(rotation.key, once, NO_STORE), 201)


async def revoke(call: Call, key: Key) -> Response:
    """POST /v1/keys/{id}/revoke: it ends at once and stays listed."""
    if key.revoked_at is None:
        key_id, now = key.id, call.now_ms
        key = await call.write(Key, lambda store: store.update(Key, key_id, now, revoked_at=now))
    return KEYS.respond(call, Created(key))


def _state(key: Key, now_ms: int) -> KeyState:
    if key.is_active(now_ms):
        return "active"
    return "expired" if key.revoked_at is None else "revoked"


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)


ENDED = "'expiresAt' must lie in the future"
ADMIN = Access((KeyScope.ADMIN,))
ONE, PAGE = response_types("ApiKey", "API key", "API keys", ApiKeyResource)
CREATED = openapi.Response(201, "the key with its text, once", CreatedApiKeyResponse)
KEYS = Resource(
    record=Key,
    path="/v1/keys",
    tag="API keys",
    word="key",
    id_name="key_id",
    shows=key_resource,
    one=ONE,
    page=PAGE,
    create=Create(
        body=NewApiKey,
        make=make_key,
        response=CREATED,
        access=ADMIN,
        operation_id="createApiKey",
        summary="Create an API key; its text is shown once",
        description="The key of the request needs `admin`; one that is restricted to a website "
        f"creates keys of that website. An organization has at most {MAX_RECORDS[Key]:,} keys, "
        "revoked ones included.",
        examples={"a key": {"name": "newsletter", "scopes": ["read:data", "write:links"]}},
    ),
    list=List(
        where=listed_keys,
        access=ADMIN,
        operation_id="listApiKeys",
        summary="List API keys without their secrets, oldest first",
        parameters=(
            openapi.Parameter("website_id", "only keys that are restricted to this website"),
            *page_parameters("keys"),
        ),
    ),
    show=Show(
        access=ADMIN, operation_id="showApiKey", summary="Show an API key without its secret"
    ),
    update=Update(
        body=ApiKeyChanges,
        changes=key_changes,
        access=ADMIN,
        operation_id="changeApiKey",
        summary="Update an API key: absent fields stay, expiresAt null clears it",
        examples={"scopes": {"scopes": ["read:data"]}},
    ),
    delete=Verb(
        access=ADMIN,
        operation_id="deleteApiKey",
        summary="Delete an API key: it ends at once and is listed no more",
    ),
    actions=(
        Action(
            access=ADMIN,
            run=rotate,
            path="/rotate",
            operation_id="rotateApiKey",
            summary="Rotate an API key: a new one with the same scopes, the old one ends later",
            description="The old key ends after `overlapHours`, or when it would have ended "
            "before. With 0 it ends at once.",
            body=KeyRotation,
            response=CREATED,
            errors=(*BODY_ERRORS, Conflict),
        ),
        Action(
            access=ADMIN,
            run=revoke,
            path="/revoke",
            operation_id="revokeApiKey",
            summary="Revoke an API key: it ends at once and stays listed",
            response=openapi.Response(200, "the key", ONE),
        ),
    ),
)
ENDPOINTS = tuple(endpoints(KEYS))
