"""Short links: create, read, update, delete, list.

A link of another organization answers like one that does not exist.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, structs
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.request.body import read_json
from query.resources.pagination import list_page
from query.response.json_value import json_response
from schemas.errors import Conflict, Forbidden, Malformed, NotFound
from schemas.http.auth import OUT_OF_REACH, authorize_organization
from schemas.plans import Group
from schemas.registry import Key, KeyScope, Link, RecordConflict, RecordNotFound, validation
from schemas.registry.link_validation import TEXT_FIELDS, URL_FIELDS, validate_field
from schemas.runtime.clock import format_instant

ExternalId = Annotated[str, Meta(max_length=255)]
Instant = str | int | None
T = TypeVar("T")

MAX_MS = 253_402_300_799_000
"""The end of the year 9999."""


class NewLink(Struct, frozen=True, rename="camel"):
    """The body that makes a link."""

    name: str
    target_url: str
    organization_id: str | None = None
    slug: str | None = None
    external_id: ExternalId | None = None
    expires_at: Instant = None
    expired_redirect_url: str | None = None
    ios_url: str | None = None
    android_url: str | None = None
    og_title: str | None = None
    og_description: str | None = None
    og_image_url: str | None = None
    og_video_url: str | None = None


class LinkChanges(Struct, frozen=True, rename="camel"):
    """The body that changes a link: what is absent stays, null takes away."""

    name: str | UnsetType = UNSET
    target_url: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    external_id: ExternalId | UnsetType | None = UNSET
    expires_at: Instant | UnsetType = UNSET
    expired_redirect_url: str | UnsetType | None = UNSET
    ios_url: str | UnsetType | None = UNSET
    android_url: str | UnsetType | None = UNSET
    og_title: str | UnsetType | None = UNSET
    og_description: str | UnsetType | None = UNSET
    og_image_url: str | UnsetType | None = UNSET
    og_video_url: str | UnsetType | None = UNSET


async def create_link(desk: QueryDependencies, request: Request) -> Response:
    """POST /v1/links: 201 with the new link; 409 when the slug is taken, or there are too many."""
    key = _authorize_write(desk, request)
    body = await read_json(request, NewLink)
    organization_id = body.organization_id or key.organization_id
    authorize_organization(desk.registry, key, organization_id)
    link = validation.new_link(
        organization_id,
        body.name,
        body.target_url,
        desk.clock(),
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
        apps=desk.app_schemes,
    )
    made = await _write(desk, lambda: desk.store_for(key).create(link))
    return json_response({"success": True, "data": link_json(made)}, 201)


async def list_links(desk: QueryDependencies, request: Request) -> Response:
    """GET /v1/links: one page of the organization's links, oldest first."""
    key = desk.authorize(request, KeyScope.READ_LINKS, Group.LINKS)
    given = request.query_params
    where = {
        "organization_id": given.get("organizationId") or key.organization_id,
        "external_id": given.get("externalId"),
    }
    authorize_organization(desk.registry, key, str(where["organization_id"]))
    return await list_page(desk, request, Link, where, link_json)


async def show_link(desk: QueryDependencies, request: Request) -> Response:
    """GET /v1/links/{id}."""
    key = desk.authorize(request, KeyScope.READ_LINKS, Group.LINKS)
    return json_response(
        {"success": True, "data": link_json(await _link_of_tenant(desk, key, request))}
    )


async def update_link(desk: QueryDependencies, request: Request) -> Response:
    """PATCH /v1/links/{id}: the named fields are changed."""
    key = _authorize_write(desk, request)
    link = await _link_of_tenant(desk, key, request)
    changes = _changes(await read_json(request, LinkChanges), desk.app_schemes)
    store, now = desk.store_for(key), desk.clock()
    made = await _write(desk, lambda: store.update(Link, link.id, now, **changes))
    return json_response({"success": True, "data": link_json(made)})


async def delete_link(desk: QueryDependencies, request: Request) -> Response:
    """DELETE /v1/links/{id}: the link is gone, its clicks stay stored."""
    key = _authorize_write(desk, request)
    link = await _link_of_tenant(desk, key, request)
    await _write(desk, lambda: desk.store_for(key).delete(Link, link.id))
    return json_response({"success": True})


def link_json(link: Link) -> Mapping[str, object]:
    """A link as answers show it: the contract's names, instants as ISO 8601."""
    return {
        "id": link.id,
        "organizationId": link.organization_id,
        "name": link.name,
        "targetUrl": link.target_url,
        "slug": link.slug,
        "externalId": link.external_id,
        "expiresAt": format_instant(link.expires_at),
        "expiredRedirectUrl": link.expired_redirect_url,
        "iosUrl": link.ios_url,
        "androidUrl": link.android_url,
        "ogTitle": link.og_title,
        "ogDescription": link.og_description,
        "ogImageUrl": link.og_image_url,
        "ogVideoUrl": link.og_video_url,
        "createdAt": format_instant(link.created_at),
        "updatedAt": format_instant(link.updated_at),
    }


def _authorize_write(desk: QueryDependencies, request: Request) -> Key:
    key = desk.authorize(request, KeyScope.WRITE_LINKS, Group.LINKS)
    if key.website_id is not None:
        raise Forbidden(OUT_OF_REACH.format(what="organization"))
    return key


async def _link_of_tenant(desk: QueryDependencies, key: Key, request: Request) -> Link:
    """The link of the path, from the store itself so that it is never an old one."""
    link_id = request.path_params["link_id"]
    try:
        link = await desk.in_registry(lambda: desk.store.get(Link, link_id))
    except RecordNotFound:
        link = None
    if link is None or link.organization_id != key.organization_id or key.website_id is not None:
        raise NotFound("No such link")
    return link


async def _write(desk: QueryDependencies, write: Callable[[], T]) -> T:
    try:
        made = await desk.in_registry(write)
    except RecordConflict as taken:
        raise Conflict(f"{str(taken)[:1].upper()}{str(taken)[1:]}") from None
    except RecordNotFound:
        raise NotFound("No such link") from None
    await desk.refresh_registry()
    return made


CHECKS: Mapping[str, Callable[[Any], object]] = {
    "name": lambda value: validation.validate_name("name", value),
    "slug": validation.validate_slug,
    "expires_at": lambda value: _instant(value),
}


def _changes(body: LinkChanges, apps: Sequence[str]) -> dict[str, object]:
    given = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    return {name: _checked(name, value, apps) for name, value in given.items()}


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
