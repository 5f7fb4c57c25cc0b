"""Set-up of a website: its script tag, and whether events have arrived."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.engine import Row, Sql
from query.engine.snapshots import PinnedVersions
from query.request.query_string import strict_query_string
from query.resources.website_bodies import (
    Snippet,
    SnippetResponse,
    WebsiteStatus,
    WebsiteStatusResponse,
)
from query.resources.websites import ID_PARAMETER, WEBSITE_PATH, authorize_read, website_of_key
from query.response.json_response import json_response
from query.sql.fragment import merge_values
from query.sql.select import Relation, Select, render
from schemas.errors import DataDamaged, Malformed, NotFound, QueryTimeout
from schemas.http import openapi
from schemas.http.script_tag import EXTRA_SCRIPTS, main_tag, validate_collect_url
from schemas.registry import Website
from schemas.runtime.clock import format_instant
from schemas.tables import EVENTS

COLUMNS = tuple(c for c in EVENTS.columns if c.name in ("website_id", "ts", "is_bot"))
MAX_MS = 2**62
COUNTS = """
    SELECT COUNT(*) AS events, COUNT(CASE WHEN is_bot THEN 1 END) AS bots,
           MIN(UNIX_MS(ts)) AS first, MAX(UNIX_MS(ts)) AS last
    FROM rows_of_website
"""
TRUTHS = {"true": True, "false": False}


async def show_snippet(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/websites/{id}/snippet."""
    key = await authorize_read(dependencies, request)
    website = await website_of_key(dependencies, key, request)
    params = request.query_params
    extras = [name for name in params.get("scripts", "").split(",") if name]
    if unknown := next((name for name in extras if name not in EXTRA_SCRIPTS), None):
        raise Malformed(f"'scripts' has '{unknown[:40]}'; scripts are {', '.join(EXTRA_SCRIPTS)}")
    persist = TRUTHS.get(params.get("persist", "false"))
    if persist is None:
        raise Malformed("'persist' must be true or false")
    base = dependencies.collect_url
    if "collect_url" in params:
        base = validate_collect_url(params["collect_url"])
    tag = main_tag(base, website.id, [name for name in EXTRA_SCRIPTS if name in extras], persist)
    return json_response(SnippetResponse(success=True, data=Snippet(tag, base)))


async def show_status(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/websites/{id}/status: what is stored, in the newest version of the table."""
    key = await authorize_read(dependencies, request)
    website = await website_of_key(dependencies, key, request)
    run = partial(_status, dependencies, website)
    status = await dependencies.snapshots.with_pinned([EVENTS], None, run)
    return json_response(WebsiteStatusResponse(success=True, data=status))


async def _status(
    dependencies: QueryDependencies, website: Website, pinned: PinnedVersions
) -> WebsiteStatus:
    events, bots, first, last = await _counts(dependencies, website, pinned)
    freshness = dependencies.freshness.freshness_of([pinned.of(EVENTS)])
    return WebsiteStatus(
        received=events > 0,
        events=events,
        bot_events=bots,
        first_event_at=None if first is None else format_instant(first),
        last_event_at=None if last is None else format_instant(last),
        watermark=freshness.watermark,
        lag_seconds=freshness.lag_seconds,
        stale_reason=freshness.stale_reason,
    )


async def _counts(dependencies: QueryDependencies, website: Website, pinned: PinnedVersions) -> Row:
    events = pinned.of(EVENTS)
    data_files = events.data_files([website.id], 0, MAX_MS)
    if not data_files:
        return (0, 0, None, None)
    engine = dependencies.standard_limiter.for_tenant(website.organization_id)
    relation = await engine.relation(events.version.with_files(data_files), COLUMNS)
    rows = Relation(
        name="rows_of_website",
        source=relation.text,
        columns=("ts", "is_bot"),
        conditions=("website_id = $website",),
    )
    values = merge_values(relation.values, {"website": website.id})
    select = Select(relations=(rows,), body=COUNTS)
    (counts,) = await engine.rows(
        Sql(render(select, engine.dialect), values), dependencies.timeout_seconds
    )
    return counts


_ENDPOINTS = (
    QueryEndpoint(
        show_snippet,
        openapi.Operation(
            method="GET",
            path=f"{WEBSITE_PATH}/snippet",
            operation_id="showSnippet",
            tag="Websites",
            summary="Show the script tag for the pages of a website",
            parameters=(
                ID_PARAMETER,
                openapi.Parameter(
                    "collect_url",
                    "URL at which browsers reach the collector, or a path of the site; default: "
                    "`TIDEMARK_COLLECT_URL` of the service, or its local address",
                ),
                openapi.Parameter("scripts", f"further scripts: {', '.join(EXTRA_SCRIPTS)}"),
                openapi.Parameter(
                    "persist",
                    "keep visitor and session ids in localStorage",
                    {"type": "boolean", "default": False},
                ),
            ),
            responses=(openapi.Response(200, "the tag", SnippetResponse),),
            errors=(*KEY_ERRORS, Malformed, NotFound),
        ),
    ),
    QueryEndpoint(
        show_status,
        openapi.Operation(
            method="GET",
            path=f"{WEBSITE_PATH}/status",
            operation_id="showWebsiteStatus",
            tag="Websites",
            summary="Show whether events of a website have arrived",
            description="Counts of stored events, with the first and the last. An event is stored "
            "a second or two after the collector accepted it.",
            parameters=(ID_PARAMETER,),
            responses=(openapi.Response(200, "what is stored", WebsiteStatusResponse),),
            errors=(*KEY_ERRORS, NotFound, QueryTimeout, DataDamaged),
        ),
    ),
)
ENDPOINTS = tuple(map(strict_query_string, _ENDPOINTS))
