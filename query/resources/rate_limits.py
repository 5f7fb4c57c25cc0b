"""GET /v1/limits: the rate limits of the organization, and what the last minute used of them."""

import logging
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.query_string import strict_query_string
from query.response.json_response import json_response
from schemas.errors import Unavailable
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.http.limit_counts import COLLECTOR, QUERY, Counted
from schemas.plans import NO_LIMIT, WINDOW_SECONDS, Group, Limit, limit_for
from schemas.registry import KeyScope, Organization

log = logging.getLogger(__name__)

SERVICE_GROUPS = {
    COLLECTOR: (Group.COLLECT, Group.REDIRECTS),
    QUERY: (Group.QUERY, Group.CUSTOM, Group.LINKS, Group.RECORDS),
}
"""Groups of an organization's requests with a key (and of its redirects), by who counts them."""
UNREADABLE = "The counts of the rate limits cannot be read right now; retry"


class Used(Struct):
    """A limit per minute, and what was used of it."""

    limit: int
    used: int


class LimitEntry(Struct, rename="camel"):
    """One rate limit."""

    group: Group
    website_id: Annotated[
        str | None,
        Meta(description="website whose requests without a key it counts; null: requests by keys"),
    ]
    requests: Used
    resets_in: Annotated[
        float, Meta(description="seconds until the oldest counted requests leave the window")
    ]
    items: Used | UnsetType = UNSET
    bytes: Used | UnsetType = UNSET


class LimitsMeta(Struct, rename="camel"):
    """How the counts are to be read."""

    plan: str
    window_seconds: int
    all_machines: Annotated[
        bool, Meta(description="whether the counts are of all machines, not only of this one")
    ]


class LimitsResponse(Struct):
    """The rate limits of an organization."""

    success: Literal[True]
    data: list[LimitEntry]
    meta: LimitsMeta


async def list_limits(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: a key of one website sees the limit of that website's requests only."""
    key = await dependencies.authorize(request, KeyScope.MANAGE_WEBSITES, Group.RECORDS)
    website_id = request.query_params.get("website_id") or key.website_id
    owner = dependencies.registry.organizations[key.organization_id]
    entries: list[LimitEntry] = []
    everywhere = True
    for service, groups in SERVICE_GROUPS.items():
        buckets = [(group, owner.id) for group in groups if key.website_id is None]
        if website_id and service == COLLECTOR:
            authorize_website(dependencies.registry, key, website_id)
            buckets.append((Group.COLLECT, website_id))
        counts, shared = await _counts(dependencies, service, buckets)
        everywhere = everywhere and shared
        entries += [
            _entry(owner, bucket, counted) for bucket, counted in zip(buckets, counts, strict=True)
        ]
    meta = LimitsMeta(owner.plan, WINDOW_SECONDS, everywhere)
    return json_response(LimitsResponse(success=True, data=entries, meta=meta))


async def _counts(
    dependencies: QueryDependencies, service: str, buckets: Sequence[tuple[Group, str]]
) -> tuple[Sequence[Counted], bool]:
    try:
        usage = await dependencies.limit_usage.read(service, buckets)
    except OSError as error:
        log.warning("rate limits unreadable", extra={"counts": service, "reason": str(error)})
        raise Unavailable(UNREADABLE) from None
    return usage.counts, usage.all_machines


def _entry(owner: Organization, bucket: tuple[Group, str], counted: Counted) -> LimitEntry:
    group, subject = bucket
    limit: Limit = limit_for(owner.plan, group, owner.limits)
    return LimitEntry(
        group=group,
        website_id=None if subject == owner.id else subject,
        requests=Used(limit.requests, counted.requests),
        items=UNSET if limit.items == NO_LIMIT else Used(limit.items, counted.items),
        bytes=UNSET if limit.bytes == NO_LIMIT else Used(limit.bytes, counted.bytes),
        resets_in=round(counted.leaves_ms / 1000, 1) if counted.requests else 0.0,
    )


ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            list_limits,
            openapi.Operation(
                method="GET",
                path="/v1/limits",
                operation_id="listLimits",
                tag="Organization",
                summary="List the rate limits of the organization, and what is used of them",
                description="Counts of the last minute, of all processes. The key needs "
                "`manage:websites`; one that is restricted to a website gets the limit of that "
                "website's requests without a key.",
                parameters=(
                    openapi.Parameter(
                        "website_id", "also the limit of this website's requests without a key"
                    ),
                ),
                responses=(openapi.Response(200, "the limits", LimitsResponse),),
                errors=KEY_ERRORS,
            ),
        )
    ),
)
