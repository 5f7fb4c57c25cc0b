"""Short links: create, read, update, delete, list.

A link of another organization answers like one that does not exist.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from msgspec import UNSET, structs
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.resources.link_bodies import Instant, LinkChanges, NewLink
from query.resources.pagination import list_page, page_parameters
from query.response.bodies import LinkListResponse, LinkResource, LinkResponse, SuccessResponse
from query.response.json_response import json_response
from schemas.errors import Conflict, Forbidden, Malformed, NotFound
from schemas.http import openapi
from schemas.http.auth import OUT_OF_REACH, authorize_organization
from schemas.plans import Group
from schemas.registry import Key, KeyScope, Link, RecordConflict, RecordNotFound, validation
from schemas.registry.link_validation import TEXT_FIELDS, URL_FIELDS, validate_field
from schemas.runtime.clock import format_instant

T = TypeVar("T")

MAX_MS = 253_402_300_799_000
"""The end of the year 9999."""


async def create_link(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/links: 201 with the new link; 409 when the slug is taken, or there are too many."""
    key = _authorize_write(dependencies, request)
    body = await read_json(request, NewLink)
    organization_id = body.organization_id or key.organization_id
    authorize_organization(dependencies.registry, key, organization_id)
    link = validation.new_link(
        organization_id,
        body.name,
        body.target_url,
        dependencies.clock(),
        slug=body.slug,
        external_id=body.external_id,
        expires_at=_instant(body.expires_at),
        expired_redirect_url=body.expired_redirect_url,
        ios_url=body.ios_url,
        android_url=body.android_url,
        og_title=body.og_title,
        og_description=body.og_description,
        og_image_url=body.og_image_url,
        og_video_url=body.og_video_url,
        apps=dependencies.app_schemes,
    )
    await _write(dependencies, lambda: dependencies.store_for(key).create(link))
    return _link_response(link, 201)


async def list_links(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/links: one page of the organization's links, oldest first."""
    key = dependencies.authorize(request, KeyScope.READ_LINKS, Group.LINKS)
    params = request.query_params
    where = {
        "organization_id": params.get("organizationId") or key.organization_id,
        "external_id": params.get("externalId"),
    }
    authorize_organization(dependencies.registry, key, str(where["organization_id"]))
    return await list_page(dependencies, request, Link, where, link_resource)


async def show_link(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/links/{id}."""
    key = dependencies.authorize(request, KeyScope.READ_LINKS, Group.LINKS)
    return _link_response(await _link_of_tenant(dependencies, key, request))


async def update_link(dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH /v1/links/{id}: update the fields that the body names."""
    key = _authorize_write(dependencies, request)
    link = await _link_of_tenant(dependencies, key, request)
    changes = _changes(await read_json(request, LinkChanges), dependencies.app_schemes)
    store, now = dependencies.store_for(key), dependencies.clock()
    updated = await _write(dependencies, lambda: store.update(Link, link.id, now, **changes))
    return _link_response(updated)


async def delete_link(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE /v1/links/{id}: delete the link; its clicks stay stored."""
    key = _authorize_write(dependencies, request)
    link = await _link_of_tenant(dependencies, key, request)
    await _write(dependencies, lambda: dependencies.store_for(key).delete(Link, link.id))
    return json_response(SuccessResponse(success=True))


def link_resource(link: Link) -> LinkResource:
    """A link as responses show it, instants as ISO 8601."""
    return LinkResource(
        id=link.id,
        organization_id=link.organization_id,
        name=link.name,
        target_url=link.target_url,
        slug=link.slug,
        external_id=link.external_id,
        expires_at=format_instant(link.expires_at),
        expired_redirect_url=link.expired_redirect_url,
        ios_url=link.ios_url,
        android_url=link.android_url,
        og_title=link.og_title,
        og_description=link.og_description,
        og_image_url=link.og_image_url,
        og_video_url=link.og_video_url,
        created_at=str(format_instant(link.created_at)),
        updated_at=str(format_instant(link.updated_at)),
    )


def _link_response(link: Link, status: int = 200) -> Response:
    return json_response(LinkResponse(success=True, data=link_resource(link)), status)


def _authorize_write(dependencies: QueryDependencies, request: Request) -> Key:
    key = dependencies.authorize(request, KeyScope.WRITE_LINKS, Group.LINKS)
    if key.website_id is not None:
        raise Forbidden(OUT_OF_REACH.format(what="organization"))
    return key


async def _link_of_tenant(dependencies: QueryDependencies, key: Key, request: Request) -> Link:
    """The link of the path, read from the store itself so that it is never stale."""
    link_id = request.path_params["link_id"]
    try:
        link = await dependencies.in_registry(lambda: dependencies.store.get(Link, link_id))
    except RecordNotFound:
        link = None
    if link is None or link.organization_id != key.organization_id or key.website_id is not None:
        raise NotFound("No such link")
    return link


async def _write(dependencies: QueryDependencies, write: Callable[[], T]) -> T:
    try:
        record = await dependencies.in_registry(write)
    except RecordConflict as conflict:
        raise Conflict(f"{str(conflict)[:1].upper()}{str(conflict)[1:]}") from None
    except RecordNotFound:
        raise NotFound("No such link") from None
    await dependencies.refresh_registry()
    return record


CHECKS: Mapping[str, Callable[[Any], object]] = {
    "name": lambda value: validation.validate_name("name", value),
    "slug": validation.validate_slug,
    "expires_at": lambda value: _instant(value),
}


def _changes(body: LinkChanges, apps: Sequence[str]) -> dict[str, object]:
    changes = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    return {name: _checked(name, value, apps) for name, value in changes.items()}


def _checked(name: str, value: Any, apps: Sequence[str]) -> object:
    if name in (*URL_FIELDS, *TEXT_FIELDS):
        return validate_field(name, value, apps)
    return CHECKS.get(name, _unchanged)(value)


def _unchanged(value: object) -> object:
    return value


def _instant(value: Instant) -> int | None:
    """Unix milliseconds of an ISO 8601 instant or of a number of them."""
    if value is None:
        return None
    if isinstance(value, int):
        ms = value
    else:
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            raise Malformed("'expiresAt' must be an ISO 8601 instant or null") from None
        ms = round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    if not 0 <= ms <= MAX_MS:
        raise Malformed("'expiresAt' must lie between 1970 and 9999")
    return ms


ID_PARAMETER = openapi.Parameter("link_id", "the link", required=True, location="path")

ENDPOINTS = (
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
