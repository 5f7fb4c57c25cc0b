"""GET /v1/quarantine/refused: why the collectors refused items of a website, by reason.

Collectors have the counts in memory. The request goes to one of them, which adds those of the
others; a token that is valid for a minute stands for the key.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.client import Client, ClientError
from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.query_string import strict_query_string
from query.response.json_response import json_response
from schemas.errors import Malformed, Unavailable
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.http.debug_access import debug_token
from schemas.plans import Group
from schemas.registry import KeyScope

COLLECTOR_SECONDS = 3.0
COLLECTOR_THREADS = ThreadPoolExecutor(2, "collector-requests")
"""Of their own, as a collector that does not answer holds them."""


class RefusedItems(Struct, rename="camel"):
    """Items that were refused for one reason, with their whole request or alone."""

    path: Annotated[str, Meta(description="the route that they were sent to")]
    code: str
    message: Annotated[str, Meta(description="field and rule, as the response of the collector")]
    items: int
    first_at: str
    last_at: str


class RefusedItemsMeta(Struct):
    """What was counted."""

    processes: Annotated[int, Meta(description="collector processes, each since its start")]
    warning: Annotated[str | UnsetType, Meta(description="which are missing; only then")] = UNSET


class RefusedItemsResponse(Struct):
    """Why items of a website were refused: of the reasons met last, the most frequent first."""

    success: Literal[True]
    data: list[RefusedItems]
    meta: RefusedItemsMeta


async def list_refused(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: of one website, since the start of the collectors."""
    key = await dependencies.authorize(request, KeyScope.READ_DATA, Group.QUERY)
    website_id = request.query_params.get("website_id") or key.website_id
    if website_id is None:
        raise Malformed("'website_id' is missing in the query string, as in ?website_id=…")
    website = authorize_website(dependencies.registry, key, website_id)
    token = debug_token(dependencies.registry, key, dependencies.clock())
    url = dependencies.collect_url
    client = Client("", token, url, seconds=COLLECTOR_SECONDS, tries=1)
    answer = asyncio.get_running_loop().run_in_executor(
        COLLECTOR_THREADS, client.received, website.id
    )
    try:
        debug: dict[str, Any] = await asyncio.wait_for(answer, COLLECTOR_SECONDS)
    except (ClientError, TimeoutError):
        raise Unavailable(f"The collector at {url} did not answer; retry") from None
    data = [
        RefusedItems(
            path=line["path"],
            code=line["code"],
            message=line["message"],
            items=line["count"],
            first_at=line["firstAt"],
            last_at=line["lastAt"],
        )
        for line in debug["rejections"]
    ]
    meta = RefusedItemsMeta(debug["processes"], debug.get("warning", UNSET))
    return json_response(RefusedItemsResponse(success=True, data=data, meta=meta))


ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            list_refused,
            openapi.Operation(
                method="GET",
                path="/v1/quarantine/refused",
                operation_id="listRefused",
                tag="Websites",
                summary="List why the collectors refused items of a website",
                description="A sample: each collector process counts the reasons that it met last, "
                "since its start. What was sent is not kept. 503 when no collector answers at the "
                "address of the setting `TIDEMARK_COLLECT_URL`.",
                parameters=(
                    openapi.Parameter(
                        "website_id",
                        "the website; default: that of a key which is restricted to one",
                    ),
                ),
                responses=(openapi.Response(200, "the reasons", RefusedItemsResponse),),
                errors=(*QUERY_ERRORS, Unavailable),
            ),
        )
    ),
)
