"""POST /v1/shares/open: open a shared dashboard with its link, and its password if it has one."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, QueryDependencies, QueryEndpoint
from query.docs.dashboard import PageRules
from query.request.body import read_json
from query.request.filters import Filter
from query.resources.quiet_refusals import quiet_refusals
from query.resources.sign_in import OwnWebsite, own_website
from query.response.json_response import json_response
from query.sign_in.hashing import matches
from query.sign_in.share_access import issue_access
from schemas.errors import NotFound, RateLimitExceeded, Unauthorized, Unavailable
from schemas.http import openapi
from schemas.http.admission import AttemptLimit
from schemas.http.middleware import HttpMiddleware
from schemas.plans import Limit
from schemas.registry import KeyScope, Share
from schemas.registry.share_links import PAGE_PATH, find_share
from schemas.runtime.clock import format_instant

MAX_LINK_LENGTH = 128
ATTEMPTS = (
    AttemptLimit("share-network", Limit(10), "passwords of shared dashboards from one network"),
    AttemptLimit("share", Limit(60), "passwords of this shared dashboard"),
)
UNKNOWN = "There is no such shared dashboard; its link may have ended"
PASSWORD_NEEDED = "This dashboard needs its password"  # noqa: S105 - a message
PASSWORD_WRONG = "The password is wrong"  # noqa: S105 - a message


class OpenShareBody(Struct, forbid_unknown_fields=True):
    """The link of a shared dashboard: what follows `/s/` in its address."""

    link: Annotated[str, Meta(min_length=1, max_length=MAX_LINK_LENGTH)]
    password: Annotated[str, Meta(min_length=1, max_length=255)] | UnsetType = UNSET


class OpenShareResponse(Struct):
    """A shared dashboard, and what authorizes its queries."""

    success: Literal[True]
    access: Annotated[str, Meta(description="sent as `Authorization: Bearer`")]
    expires: Annotated[str, Meta(description="when the access ends; ISO 8601")]
    name: str
    website: OwnWebsite
    filters: Annotated[list[Filter], Meta(description="always apply")]


async def open_share(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: access for some hours."""
    dependencies.admit_public(request)
    body = await read_json(request, OpenShareBody)
    registry, now = dependencies.registry, dependencies.clock()
    share = find_share(registry.saved, body.link, now)
    if share is None:
        await dependencies.follower.newer_than(registry, [body.link])
        registry = dependencies.registry
        share = find_share(registry.saved, body.link, now)
    if share is None:
        raise NotFound(UNKNOWN)
    await _check_password(request, share, body.password)
    access, ends_at = issue_access(dependencies.sign_ins, share, now)
    shown: dict[str, Any] = {
        "success": True,
        "access": access,
        "expires": format_instant(ends_at),
        "name": share.name,
        "website": own_website(registry.websites[share.website_id], (KeyScope.READ_DATA,)),
        "filters": share.filters,
    }
    response = json_response(shown)
    response.headers["cache-control"] = "no-store"
    return response


def page_rules(dependencies: QueryDependencies, path: str) -> PageRules:
    """Which origins may show the page of a shared dashboard, and whether it has a password."""
    if not path.startswith(PAGE_PATH):
        return PageRules()
    link = path.removeprefix(PAGE_PATH).partition("/")[0]
    share = find_share(dependencies.registry.saved, link, dependencies.clock())
    return PageRules(share.frame_origins, share.password is not None) if share else PageRules()


async def _check_password(request: Request, share: Share, password: str | UnsetType) -> None:
    """Unauthorized for a wrong one; attempts count before they are verified."""
    if share.password is None:
        return
    if isinstance(password, UnsetType):
        raise Unauthorized(PASSWORD_NEEDED)
    middleware: HttpMiddleware = request.scope["app"]
    subjects = (middleware.client_network(request.scope), share.id)
    for limit, subject in zip(ATTEMPTS, subjects, strict=True):
        await middleware.admission.reserve_attempt(limit, subject)
        middleware.admission.count_attempt(request.scope, limit, subject)
    if not await matches(password, share.password):
        raise Unauthorized(PASSWORD_WRONG)


ENDPOINTS = (
    quiet_refusals(
        QueryEndpoint(
            open_share,
            openapi.Operation(
                method="POST",
                path="/v1/shares/open",
                operation_id="openShare",
                tag="Shares",
                summary="Open a shared dashboard",
                description="Needs no API key. The access that it gives authorizes POST /v1/query "
                "and POST /v1/query/metrics about the website of the share, under its filters, for "
                "query types without single visitors, and GET /v1/me. It ends with the share.",
                body=OpenShareBody,
                responses=(openapi.Response(200, "the dashboard", OpenShareResponse),),
                errors=(Unauthorized, NotFound, RateLimitExceeded, Unavailable, *BODY_ERRORS),
                security=({},),
            ),
        )
    ),
)
