"""POST /v1/query/compile: what a custom query would run and read, without running it.

Data files hold rows of all tenants, so nothing is told of them: not how many there are, nor how
large. What is told are the rows of the subject itself.
"""

from datetime import datetime
from decimal import Decimal

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from query.answers import answered
from query.bodies import body_of
from query.custom.asking import Asked, asked
from query.custom.requests import CustomBody
from query.desk import Desk
from query.engine import PartGone, Sql
from query.scoped import scoped
from query.snapshots import Pinned
from query.subjects import subject
from schemas.clock import instant_ms, iso
from schemas.failures import Unavailable
from schemas.plans import Group
from schemas.registry import Scope as KeyScope

PARTS = "parts"
"""The bound value that holds the files' addresses."""


async def explain(desk: Desk, request: Request) -> Response:
    """Answer a request."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = subject(desk, key, request)
    body = await body_of(request, CustomBody)
    one = asked(desk, body, who, key, request.query_params.get("timezone"))
    stored = one.plan.table.stored
    for anew in (False, True):
        pinned = await desk.shelf.pin_at(stored, one.as_of, anew)
        try:
            sql = await one.sql(desk, pinned)
            rows = await _rows(desk, one, pinned)
            break
        except PartGone:
            continue
    else:
        await desk.shelf.refuse_gone(one.as_of, [stored])
        raise Unavailable("The stored data cannot be read at the moment")
    return answered(
        {
            "success": True,
            "sql": sql.text,
            "values": {name: _shown(v) for name, v in sql.values.items() if name != PARTS},
            "tables": [{"name": stored.name, "version": pinned.version.number, "rows": rows}],
        }
    )


async def _rows(desk: Desk, one: Asked, pinned: Pinned) -> int:
    """The subject's rows in the span, before any filter."""
    engine = desk.custom.of(one.owner)
    scope = structs.replace(one.scope(pinned), where=Sql(""), include_bots=True)
    held = await scoped(engine, scope, [])
    count = Sql(f"WITH scoped AS (\n{held.text}\n)\nSELECT COUNT(*)\n  FROM scoped", held.values)
    [(rows,)] = await engine.rows(count, desk.seconds)
    return int(rows)


def _shown(value: object) -> object:
    if isinstance(value, datetime):
        return iso(instant_ms(value.isoformat()))
    return float(value) if isinstance(value, Decimal) else value
