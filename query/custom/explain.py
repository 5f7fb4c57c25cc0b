"""POST /v1/query/compile: what a custom query would run and read, without running it.

Data files hold rows of all tenants, so nothing is told of them: not how many there are, nor how
large. What is told are the rows of the subject itself.
"""

from datetime import datetime
from decimal import Decimal
from functools import partial

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from query.custom.execute import CustomQuery, parse_custom_query
from query.custom.request import CustomRequest
from query.dependencies import QueryDependencies
from query.engine.engine import Sql
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.request.body import read_json
from query.request.subject import authorized_subject
from query.response.json_response import json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.scope.scope import scoped_rows
from schemas.plans import Group
from schemas.registry import KeyScope as KeyScope
from schemas.runtime.clock import format_instant, parse_instant_ms

FILES_PARAMETER = "parts"
"""The bound value that holds the files' addresses."""


async def explain_custom_query(desk: QueryDependencies, request: Request) -> Response:
    """Answer a request."""
    key = desk.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = authorized_subject(desk, key, request)
    body = await read_json(request, CustomRequest)
    one = parse_custom_query(desk, body, who, key, request.query_params.get("timezone"))
    return await desk.run_within_budget(
        request, who.organization_id, partial(_explained, desk, one)
    )


async def _explained(desk: QueryDependencies, one: CustomQuery, budget: ResponseBudget) -> Response:
    """SQL, bound values and row count, from one version."""
    table = one.plan.table.table

    async def run(versions: PinnedVersions) -> dict[str, object]:
        pinned = versions.of(table)
        sql = await one.sql(desk, pinned)
        rows = await _rows(desk, one, pinned, budget)
        values = {name: _shown(v) for name, v in sql.values.items() if name != FILES_PARAMETER}
        read = {"name": table.name, "version": pinned.version.number, "rows": rows}
        return {"success": True, "sql": sql.text, "values": values, "tables": [read]}

    body = await desk.snapshots.with_pinned([table], one.as_of, run)
    return LargeResponse(json_pieces(body), budget, media_type="application/json")


async def _rows(
    desk: QueryDependencies, one: CustomQuery, pinned: PinnedVersion, budget: ResponseBudget
) -> int:
    """The subject's rows in the span, before any filter."""
    engine = desk.custom_limiter.for_tenant(one.organization_id)
    scope = structs.replace(one.scope(pinned), where=Sql(""), include_bots=True)
    held = await scoped_rows(engine, scope, [])
    count = Sql(f"WITH scoped AS (\n{held.text}\n)\nSELECT COUNT(*)\n  FROM scoped", held.values)
    [(rows,)] = await engine.rows(count, budget.seconds)
    return int(rows)


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if isinstance(value, datetime):
        return format_instant(parse_instant_ms(value.isoformat()))
    return float(value) if isinstance(value, Decimal) else value
