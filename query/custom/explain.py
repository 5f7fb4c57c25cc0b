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

from query.custom.execute import Asked, asked
from query.custom.request import CustomBody
from query.dependencies import Desk
from query.engine.engine import PartGone, Sql
from query.engine.snapshots import Pinned
from query.request.body import body_of
from query.request.subject import subject
from query.response.json_response import pieces_of
from query.response.large_response import LargeResponse
from query.response.response_budget import AnswerBudget
from query.scope.scope import scoped
from schemas.errors import Unavailable
from schemas.plans import Group
from schemas.registry import Scope as KeyScope
from schemas.runtime.clock import instant_ms, iso

PARTS = "parts"
"""The bound value that holds the files' addresses."""


async def explain(desk: Desk, request: Request) -> Response:
    """Answer a request."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = subject(desk, key, request)
    body = await body_of(request, CustomBody)
    one = asked(desk, body, who, key, request.query_params.get("timezone"))
    return await desk.bounded(request, who.owner, partial(_explained, desk, one))


async def _explained(desk: Desk, one: Asked, budget: AnswerBudget) -> Response:
    """What is told of it, from one version; anew when a part was compacted away meanwhile."""
    stored = one.plan.table.stored
    for anew in (False, True):
        pinned = await desk.shelf.pin_at(stored, one.as_of, anew)
        try:
            sql = await one.sql(desk, pinned)
            rows = await _rows(desk, one, pinned, budget)
        except PartGone:
            continue
        values = {name: _shown(v) for name, v in sql.values.items() if name != PARTS}
        read = {"name": stored.name, "version": pinned.version.number, "rows": rows}
        told = {"success": True, "sql": sql.text, "values": values, "tables": [read]}
        return LargeResponse(pieces_of(told), budget, media_type="application/json")
    await desk.shelf.refuse_gone(one.as_of, [stored])
    raise Unavailable("The stored data cannot be read at the moment")


async def _rows(desk: Desk, one: Asked, pinned: Pinned, budget: AnswerBudget) -> int:
    """The subject's rows in the span, before any filter."""
    engine = desk.custom.of(one.owner)
    scope = structs.replace(one.scope(pinned), where=Sql(""), include_bots=True)
    held = await scoped(engine, scope, [])
    count = Sql(f"WITH scoped AS (\n{held.text}\n)\nSELECT COUNT(*)\n  FROM scoped", held.values)
    [(rows,)] = await engine.rows(count, budget.seconds)
    return int(rows)


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if isinstance(value, datetime):
        return iso(instant_ms(value.isoformat()))
    return float(value) if isinstance(value, Decimal) else value
