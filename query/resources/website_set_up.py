"""Set-up of a website: its script tag, and whether events have arrived."""

from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.engine.engine import Row, Sql
from query.engine.snapshots import PinnedVersions
from query.resources.resource import Access, Action, Call
from query.response.bodies import StaleReason, Watermark
from query.response.json_response import json_response
from query.sql.fragment import merge_values
from query.sql.select import Relation, Select, render
from schemas.errors import DataDamaged, Malformed, QueryTimeout
from schemas.http import openapi
from schemas.http.script_tag import EXTRA_SCRIPTS, main_tag, validate_collect_url
from schemas.kinds import KINDS
from schemas.registry import KeyScope, Website
from schemas.registry.keep_days import midnight_ms_before
from schemas.runtime.clock import format_instant
from schemas.tables import EVENTS
from schemas.tables.column import WEBSITE_COLUMN

COLUMNS = tuple(c for c in EVENTS.columns if c.name in ("website_id", "ts", "is_bot"))
WEBSITE_TABLES = tuple(k.table for k in KINDS if k.table.subject_column == WEBSITE_COLUMN.name)
MAX_MS = 2**62
COUNTS = """
    SELECT COUNT(*) AS events, COUNT(CASE WHEN is_bot THEN 1 END) AS bots,
           MIN(UNIX_MS(ts)) AS first, MAX(UNIX_MS(ts)) AS last
    FROM rows_of_website
"""
TRUTHS = {"true": True, "false": False}


class WebsiteStatus(Struct, rename="camel"):
    """Which events of a website are stored."""

    received: Annotated[bool, Meta(description="whether there is any, of a bot or not")]
    events: int
    bot_events: Annotated[int, Meta(description="how many of them are of bots")]
    first_event_at: str | None
    last_event_at: str | None
    watermark: Watermark
    lag_seconds: float | None
    kept_from: Annotated[
        dict[str, str],
        Meta(
            description="first day (UTC) of which rows are kept, by table, where days to keep are "
            "set; older rows are deleted within the hour"
        ),
    ]
    stale_reason: StaleReason | UnsetType = UNSET


class WebsiteStatusResponse(Struct):
    """The stored events of one website."""

    success: Literal[True]
    data: WebsiteStatus


class Snippet(Struct, rename="camel"):
    """The script tag for the pages of a website."""

    script: Annotated[str, Meta(description="put it into the head of every page")]
    collect_url: str


class SnippetResponse(Struct):
    """The script tag of one website."""

    success: Literal[True]
    data: Snippet


async def show_snippet(call: Call, website: Website) -> Response:
    """GET /v1/websites/{id}/snippet."""
    extras = [name for name in call.parameters.get("scripts", "").split(",") if name]
    if unknown := next((name for name in extras if name not in EXTRA_SCRIPTS), None):
        raise Malformed(f"'scripts' has '{unknown[:40]}'; scripts are {', '.join(EXTRA_SCRIPTS)}")
    persist = TRUTHS.get(call.parameters.get("persist", "false"))
    if persist is None:
        raise Malformed("'persist' must be true or false")
    base = call.dependencies.collect_url
    if "collect_url" in call.parameters:
        base = validate_collect_url(call.parameters["collect_url"])
    tag = main_tag(base, website, [name for name in EXTRA_SCRIPTS if name in extras], persist)
    return json_response(SnippetResponse(success=True, data=Snippet(tag, base)))


async def show_status(call: Call, website: Website) -> Response:
    """GET /v1/websites/{id}/status: what is stored, in the newest version of the table."""
    run = partial(_status, call.dependencies, website)
    status = await call.dependencies.snapshots.with_pinned([EVENTS], None, run)
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
        kept_from=_kept_from(dependencies, website),
        stale_reason=freshness.stale_reason,
    )


def _kept_from(dependencies: QueryDependencies, website: Website) -> dict[str, str]:
    """The first day that is kept, by table."""
    organization = dependencies.registry.organizations[website.organization_id]
    owners, now = (website.keep_days, organization.keep_days), dependencies.clock()
    return {
        table.name: str(format_instant(midnight_ms_before(days, now)))[:10]
        for table in WEBSITE_TABLES
        if (days := dependencies.keep_bounds.days_of(table.name, *owners)) is not None
    }


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


READS = Access((KeyScope.READ_DATA, KeyScope.MANAGE_WEBSITES))
SNIPPET = Action(
    access=READS,
    run=show_snippet,
    method="GET",
    path="/snippet",
    operation_id="showSnippet",
    summary="Show the script tag for the pages of a website",
    parameters=(
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
    response=openapi.Response(200, "the tag", SnippetResponse),
    errors=(Malformed,),
)
STATUS = Action(
    access=READS,
    run=show_status,
    method="GET",
    path="/status",
    operation_id="showWebsiteStatus",
    summary="Show whether events of a website have arrived",
    description="Counts of stored events, with the first and the last. An event is stored "
    "a second or two after the collector accepted it.",
    response=openapi.Response(200, "what is stored", WebsiteStatusResponse),
    errors=(QueryTimeout, DataDamaged),
)
