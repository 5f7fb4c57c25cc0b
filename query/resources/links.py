"""Short links: create, read, update, delete, list.

A link of another organization answers like one that does not exist.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.instants import parse_instant
from query.request.query_string import strict_query_string
from query.resources.link_bodies import (
    LinkChanges,
    LinkListResponse,
    LinkResponse,
    NewLink,
    link_resource,
)
from query.resources.pagination import list_page, page_parameters
from query.resources.record_access import (
    read_changes,
    read_record,
    require_whole_organization,
    write_record,
)
from query.response.bodies import SuccessResponse
from query.response.json_response import json_response
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http import openapi
from schemas.http.auth import authorize_organization
from schemas.plans import Group
from schemas.registry import Key, KeyScope, Link, validation
from schemas.registry.link_validation import WIRE_NAMES
from schemas.registry.records import LINK_FIELDS, LinkFieldKind


async def create_link(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/links: 201 with the new link; 409 when the slug is taken, or there are too many."""
    key = await _authorize_write(dependencies, request)
    body = await read_json(request, NewLink)
    organization_id = body.organization_id or key.organization_id
    authorize_organization(dependencies.registry, key, organization_id)
    link = validation.new_link(
        organization_id,
        body.name,
        body.target_url,
        dependencies.clock(),
        slug=body.slug,
        apps=dependencies.app_schemes,
        **_optional_fields(body),
    )
    await write_record(dependencies, Link, lambda: dependencies.store_for(key).create(link))
    return _link_response(link, 201)


async def list_links(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/links: one page of the organization's links, oldest first."""
    key = await dependencies.authorize(request, KeyScope.READ_LINKS, Group.LINKS)
    params = request.query_params
    where = {
        "organization_id": params.get("organizationId") or key.organization_id,
        "external_id": params.get("externalId"),
    }
    authorize_organization(dependencies.registry, key, str(where["organization_id"]))
    return await list_page(dependencies, request, Link, where, link_resource)


async def show_link(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/links/{id}."""
    key = await dependencies.authorize(request, KeyScope.READ_LINKS, Group.LINKS)
    return _link_response(await _link_of_tenant(dependencies, key, request))


async def update_link(dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH /v1/links/{id}: update the fields that the body names."""
    key = await _authorize_write(dependencies, request)
    link = await _link_of_tenant(dependencies, key, request)
    changes = _changes(await read_changes(request, LinkChanges), dependencies.app_schemes)
    store, now = dependencies.store_for(key), dependencies.clock()
    updated = await write_record(
        dependencies, Link, lambda: store.update(Link, link.id, now, **changes)
    )
    return _link_response(updated)


async def delete_link(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE /v1/links/{id}: delete the link; its clicks stay stored."""
    key = await _authorize_write(dependencies, request)
    link = await _link_of_tenant(dependencies, key, request)
    await write_record(
        dependencies, Link, lambda: dependencies.store_for(key).delete(Link, link.id)
    )
    return json_response(SuccessResponse(success=True))


def _link_response(link: Link, status: int = 200) -> Response:
    return json_response(LinkResponse(success=True, data=link_resource(link)), status)


async def _authorize_write(dependencies: QueryDependencies, request: Request) -> Key:
    key = await dependencies.authorize(request, KeyScope.WRITE_LINKS, Group.LINKS)
    return require_whole_organization(key)


async def _link_of_tenant(dependencies: QueryDependencies, key: Key, request: Request) -> Link:
    return await read_record(dependencies, key, Link, request.path_params["link_id"])


def _optional_fields(body: NewLink | LinkChanges) -> dict[str, Any]:
    """The optional fields that a body names, with instants in Unix milliseconds."""
    values = {name: getattr(body, name) for name in LINK_FIELDS}
    return {
        name: parse_instant(WIRE_NAMES[name], value)
        if LINK_FIELDS[name].kind is LinkFieldKind.INSTANT
        else value
        for name, value in values.items()
        if value is not UNSET
    }


def _changes(body: LinkChanges, apps: Sequence[str]) -> dict[str, Any]:
    required = {name: getattr(body, name) for name in ("name", "target_url", "slug")}
    changes = {name: value for name, value in required.items() if value is not UNSET}
    return validation.validate_link_fields({**changes, **_optional_fields(body)}, apps)


ID_PARAMETER = openapi.Parameter("link_id", "the link", required=True, location="path")

_ENDPOINTS = (
    QueryEndpoint(
        create_link,
        openapi.Operation(
            method="POST",
            path="/v1/links",
            operation_id="createLink",
            tag="Links",
            summary="Create a short link",
            description="The collector redirects /l/{slug} to the target and counts the clicks.",
            body=NewLink,
            examples={"a link": {"name": "Spring", "targetUrl": "https://shop.example/spring"}},
            responses=(openapi.Response(201, "the link", LinkResponse),),
            errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict),
        ),
    ),
    QueryEndpoint(
        list_links,
        openapi.Operation(
            method="GET",
            path="/v1/links",
            operation_id="listLinks",
            tag="Links",
            summary="List links, oldest first",
            parameters=(
                openapi.Parameter(
                    "organizationId", "organization of the links; default: that of the API key"
                ),
                openapi.Parameter("externalId", "only links with this external id"),
                *page_parameters("links"),
            ),
            responses=(openapi.Response(200, "one page", LinkListResponse),),
            errors=(*KEY_ERRORS, Malformed),
        ),
    ),
    QueryEndpoint(
        show_link,
        openapi.Operation(
            method="GET",
            path="/v1/links/{link_id}",
            operation_id="showLink",
            tag="Links",
            summary="Show a link",
            parameters=(ID_PARAMETER,),
            responses=(openapi.Response(200, "the link", LinkResponse),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
    QueryEndpoint(
        update_link,
        openapi.Operation(
            method="PATCH",
            path="/v1/links/{link_id}",
            operation_id="changeLink",
            tag="Links",
            summary="Update a link: absent fields stay, null clears a field",
            parameters=(ID_PARAMETER,),
            body=LinkChanges,
            responses=(openapi.Response(200, "the link", LinkResponse),),
            errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict, NotFound),
        ),
    ),
    QueryEndpoint(
        delete_link,
        openapi.Operation(
            method="DELETE",
            path="/v1/links/{link_id}",
            operation_id="deleteLink",
            tag="Links",
            summary="Delete a link; its clicks stay stored",
            parameters=(ID_PARAMETER,),
            responses=(openapi.Response(200, "deleted", SuccessResponse),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
)
ENDPOINTS = tuple(map(strict_query_string, _ENDPOINTS))
