"""API keys: create, list, read, update, rotate, revoke, delete.

Only `admin` keys manage keys; one that is restricted to a website manages the keys of that website.
A key that it has no access to answers like one that does not exist.
"""

from functools import partial

from msgspec import UNSET, structs
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.instants import parse_instant
from query.request.query_string import strict_query_string
from query.resources.key_bodies import (
    ApiKeyChanges,
    ApiKeyListResponse,
    ApiKeyResponse,
    CreatedApiKey,
    CreatedApiKeyResponse,
    KeyRotation,
    NewApiKey,
    key_resource,
)
from query.resources.pagination import list_page, page_parameters
from query.resources.record_access import read_changes, read_record, write_record
from query.resources.website_bodies import given_members
from query.response.bodies import SuccessResponse
from query.response.json_response import json_response
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.plans import Group
from schemas.registry import Key, KeyScope
from schemas.registry.key_rotation import rotate_key
from schemas.registry.record_limits import MAX_RECORDS
from schemas.registry.validation import new_key, validate_key_fields
from schemas.runtime.clock import format_instant


async def create_key(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/keys: 201 with the new key and its text; 409 when there are too many."""
    key = await _authorize(dependencies, request)
    body = await read_json(request, NewApiKey)
    website_id = key.website_id if body.website_id is UNSET else body.website_id
    if website_id is not None or key.website_id is not None:
        website_id = authorize_website(dependencies.registry, key, str(website_id)).id
    now, ends_at = dependencies.clock(), parse_instant("expiresAt", body.expires_at)
    created, text = new_key(key.organization_id, body.scopes, now, website_id, body.name, ends_at)
    if not created.is_active(now):
        raise Malformed("'expiresAt' must lie in the future")
    store = dependencies.store_for(key)
    await write_record(dependencies, Key, lambda: store.create(created))
    return _created_response(dependencies, created, text)


async def list_keys(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/keys: one page of the organization's keys, or of those of one website."""
    key = await _authorize(dependencies, request)
    website_id = request.query_params.get("website_id") or key.website_id
    if website_id is not None:
        authorize_website(dependencies.registry, key, website_id)
    where = {"organization_id": key.organization_id, "website_id": website_id}
    to_resource = partial(key_resource, now_ms=dependencies.clock())
    return await list_page(dependencies, request, Key, where, to_resource)


async def show_key(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/keys/{id}."""
    key = await _authorize(dependencies, request)
    return _key_response(dependencies, await _key_of_tenant(dependencies, key, request))


async def update_key(dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH /v1/keys/{id}: update the fields that the body names."""
    key = await _authorize(dependencies, request)
    changed = await _key_of_tenant(dependencies, key, request)
    changes = given_members(await read_changes(request, ApiKeyChanges))
    if "expires_at" in changes:
        changes["expires_at"] = parse_instant("expiresAt", changes["expires_at"])
    store, now = dependencies.store_for(key), dependencies.clock()
    valid = validate_key_fields(changes)
    updated = await write_record(
        dependencies, Key, lambda: store.update(Key, changed.id, now, **valid)
    )
    return _key_response(dependencies, updated)


async def rotate(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/keys/{id}/rotate: 201 with the new key; 409 when the old one has ended."""
    key = await _authorize(dependencies, request)
    old = await _key_of_tenant(dependencies, key, request)
    body = await read_json(request, KeyRotation)
    store, now = dependencies.store_for(key), dependencies.clock()
    ends_at = old.expires_at
    if body.expires_at is not UNSET:
        ends_at = parse_instant("expiresAt", body.expires_at)
        if ends_at is not None and ends_at <= now:
            raise Malformed("'expiresAt' must lie in the future")
    rotation = await write_record(
        dependencies, Key, lambda: rotate_key(store, old.id, now, body.overlap_hours, ends_at)
    )
    replaced_ends_at = str(format_instant(rotation.replaced.expires_at))
    return _created_response(
        dependencies,
        rotation.key,
        rotation.text,
        replaces=rotation.replaced.id,
        replaced_ends_at=replaced_ends_at,
    )


async def revoke_key(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/keys/{id}/revoke: it ends at once and stays listed."""
    key = await _authorize(dependencies, request)
    revoked = await _key_of_tenant(dependencies, key, request)
    if revoked.revoked_at is None:
        store, now, key_id = dependencies.store_for(key), dependencies.clock(), revoked.id
        revoked = await write_record(
            dependencies, Key, lambda: store.update(Key, key_id, now, revoked_at=now)
        )
    return _key_response(dependencies, revoked)


async def delete_key(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE /v1/keys/{id}: it ends at once and is listed no more."""
    key = await _authorize(dependencies, request)
    deleted = await _key_of_tenant(dependencies, key, request)
    store = dependencies.store_for(key)
    await write_record(dependencies, Key, lambda: store.delete(Key, deleted.id))
    return json_response(SuccessResponse(success=True))


async def _authorize(dependencies: QueryDependencies, request: Request) -> Key:
    return await dependencies.authorize(request, KeyScope.ADMIN, Group.RECORDS)


async def _key_of_tenant(dependencies: QueryDependencies, key: Key, request: Request) -> Key:
    return await read_record(dependencies, key, Key, request.path_params["key_id"])


def _key_response(dependencies: QueryDependencies, key: Key) -> Response:
    resource = key_resource(key, dependencies.clock())
    return json_response(ApiKeyResponse(success=True, data=resource))


def _created_response(
    dependencies: QueryDependencies, key: Key, text: str, **more: str
) -> Response:
    resource = structs.asdict(key_resource(key, dependencies.clock()))
    data = structs.replace(CreatedApiKey(**resource, key=text), **more)
    response = json_response(CreatedApiKeyResponse(success=True, data=data), 201)
    response.headers["cache-control"] = "no-store"
    return response


ID_PARAMETER = openapi.Parameter("key_id", "the key", required=True, location="path")
CREATED = openapi.Response(201, "the key with its text, once", CreatedApiKeyResponse)
SHOWN = openapi.Response(200, "the key", ApiKeyResponse)
CHANGE_ERRORS = (*KEY_ERRORS, *BODY_ERRORS, NotFound)
_every = partial(openapi.Operation, path="/v1/keys", tag="API keys")
_one = partial(
    openapi.Operation, path="/v1/keys/{key_id}", tag="API keys", parameters=(ID_PARAMETER,)
)
_ENDPOINTS = (
    QueryEndpoint(
        create_key,
        _every(
            method="POST",
            operation_id="createApiKey",
            summary="Create an API key; its text is shown once",
            description="The key of the request needs `admin`; one that is restricted to a website "
            f"creates keys of that website. An organization has at most {MAX_RECORDS[Key]:,} keys, "
            "revoked ones included.",
            body=NewApiKey,
            examples={"a key": {"name": "newsletter", "scopes": ["read:data", "write:links"]}},
            responses=(CREATED,),
            errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict),
        ),
    ),
    QueryEndpoint(
        list_keys,
        _every(
            method="GET",
            operation_id="listApiKeys",
            summary="List API keys without their secrets, oldest first",
            parameters=(
                openapi.Parameter("website_id", "only keys that are restricted to this website"),
                *page_parameters("keys"),
            ),
            responses=(openapi.Response(200, "one page", ApiKeyListResponse),),
            errors=(*KEY_ERRORS, Malformed),
        ),
    ),
    QueryEndpoint(
        show_key,
        _one(
            method="GET",
            operation_id="showApiKey",
            summary="Show an API key without its secret",
            responses=(SHOWN,),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
    QueryEndpoint(
        update_key,
        _one(
            method="PATCH",
            operation_id="changeApiKey",
            summary="Update an API key: absent fields stay, expiresAt null clears it",
            body=ApiKeyChanges,
            examples={"scopes": {"scopes": ["read:data"]}},
            responses=(SHOWN,),
            errors=CHANGE_ERRORS,
        ),
    ),
    QueryEndpoint(
        rotate,
        _one(
            method="POST",
            path="/v1/keys/{key_id}/rotate",
            operation_id="rotateApiKey",
            summary="Rotate an API key: a new one with the same scopes, the old one ends later",
            description="The old key ends after `overlapHours`, or when it would have ended "
            "before. With 0 it ends at once.",
            body=KeyRotation,
            responses=(CREATED,),
            errors=(*CHANGE_ERRORS, Conflict),
        ),
    ),
    QueryEndpoint(
        revoke_key,
        _one(
            method="POST",
            path="/v1/keys/{key_id}/revoke",
            operation_id="revokeApiKey",
            summary="Revoke an API key: it ends at once and stays listed",
            responses=(SHOWN,),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
    QueryEndpoint(
        delete_key,
        _one(
            method="DELETE",
            operation_id="deleteApiKey",
            summary="Delete an API key: it ends at once and is listed no more",
            responses=(openapi.Response(200, "deleted", SuccessResponse),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
)
ENDPOINTS = tuple(map(strict_query_string, _ENDPOINTS))
