"""Short links: create, read, update, delete, list (interface 2.1 and 4.1).

A link of another organization answers like one that does not exist.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, structs
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import Desk
from query.request.body import body_of
from query.resources.pagination import listing
from query.response.json_value import answered
from schemas.errors import Conflict, Forbidden, Malformed, NotFound
from schemas.http.auth import NO_REACH, reach_organization
from schemas.plans import Group
from schemas.registry import Key, Link, Scope, Taken, Unknown, validation
from schemas.registry.link_validation import TEXTS, URLS, checked_member
from schemas.runtime.clock import iso

ExternalId = Annotated[str, Meta(max_length=255)]
Instant = str | int | None
T = TypeVar("T")

LAST_MS = 253_402_300_799_000
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


class Changes(Struct, frozen=True, rename="camel"):
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


async def create(desk: Desk, request: Request) -> Response:
    """POST /v1/links: 201 with the new link; 409 when the slug is taken, or there are too many."""
    key = _writer(desk, request)
    body = await body_of(request, NewLink)
    organization_id = body.organization_id or key.organization_id
    reach_organization(desk.registry, key, organization_id)
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
        apps=desk.apps,
    )
    made = await _written(desk, lambda: desk.store_for(key).create(link))
    return answered({"success": True, "data": shown(made)}, 201)


async def listed(desk: Desk, request: Request) -> Response:
    """GET /v1/links: one page of the organization's links, oldest first."""
    key = desk.admit(request, Scope.READ_LINKS, Group.LINKS)
    given = request.query_params
    where = {
        "organization_id": given.get("organizationId") or key.organization_id,
        "external_id": given.get("externalId"),
    }
    reach_organization(desk.registry, key, str(where["organization_id"]))
    return await listing(desk, request, Link, where, shown)


async def show(desk: Desk, request: Request) -> Response:
    """GET /v1/links/{id}."""
    key = desk.admit(request, Scope.READ_LINKS, Group.LINKS)
    return answered({"success": True, "data": shown(await _own(desk, key, request))})


async def update(desk: Desk, request: Request) -> Response:
    """PATCH /v1/links/{id}: the named fields are changed."""
    key = _writer(desk, request)
    link = await _own(desk, key, request)
    changes = _changes(await body_of(request, Changes), desk.apps)
    store, now = desk.store_for(key), desk.clock()
    made = await _written(desk, lambda: store.update(Link, link.id, now, **changes))
    return answered({"success": True, "data": shown(made)})


async def delete(desk: Desk, request: Request) -> Response:
    """DELETE /v1/links/{id}: the link is gone, its clicks stay stored."""
    key = _writer(desk, request)
    link = await _own(desk, key, request)
    await _written(desk, lambda: desk.store_for(key).delete(Link, link.id))
    return answered({"success": True})


def shown(link: Link) -> Mapping[str, object]:
    """A link as answers show it: the contract's names, instants as ISO 8601."""
    return {
        "id": link.id,
        "organizationId": link.organization_id,
        "name": link.name,
        "targetUrl": link.target_url,
        "slug": link.slug,
        "externalId": link.external_id,
        "expiresAt": iso(link.expires_at),
        "expiredRedirectUrl": link.expired_redirect_url,
        "iosUrl": link.ios_url,
        "androidUrl": link.android_url,
        "ogTitle": link.og_title,
        "ogDescription": link.og_description,
        "ogImageUrl": link.og_image_url,
        "ogVideoUrl": link.og_video_url,
        "createdAt": iso(link.created_at),
        "updatedAt": iso(link.updated_at),
    }


def _writer(desk: Desk, request: Request) -> Key:
    key = desk.admit(request, Scope.WRITE_LINKS, Group.LINKS)
    if key.website_id is not None:
        raise Forbidden(NO_REACH.format(what="organization"))
    return key


async def _own(desk: Desk, key: Key, request: Request) -> Link:
    """The link of the path, from the store itself so that it is never an old one."""
    link_id = request.path_params["link_id"]
    try:
        link = await desk.in_registry(lambda: desk.store.get(Link, link_id))
    except Unknown:
        link = None
    if link is None or link.organization_id != key.organization_id or key.website_id is not None:
        raise NotFound("No such link")
    return link


async def _written(desk: Desk, write: Callable[[], T]) -> T:
    try:
        made = await desk.in_registry(write)
    except Taken as taken:
        raise Conflict(f"{str(taken)[:1].upper()}{str(taken)[1:]}") from None
    except Unknown:
        raise NotFound("No such link") from None
    await desk.catch_up()
    return made


CHECKS: Mapping[str, Callable[[Any], object]] = {
    "name": lambda value: validation.checked_name("name", value),
    "slug": validation.checked_slug,
    "expires_at": lambda value: _instant(value),
}


def _changes(body: Changes, apps: Sequence[str]) -> dict[str, object]:
    given = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    return {name: _checked(name, value, apps) for name, value in given.items()}


def _checked(name: str, value: Any, apps: Sequence[str]) -> object:
    if name in (*URLS, *TEXTS):
        return checked_member(name, value, apps)
    return CHECKS.get(name, _as_is)(value)


def _as_is(value: object) -> object:
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
    if not 0 <= ms <= LAST_MS:
        raise Malformed("'expiresAt' must lie between 1970 and 9999")
    return ms
