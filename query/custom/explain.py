"""POST /v1/query/compile: what a custom query would run and read, without running it."""

from datetime import datetime
from decimal import Decimal

from starlette.requests import Request
from starlette.responses import Response

from query.answers import answered
from query.bodies import body_of
from query.custom.asking import asked
from query.custom.requests import CustomBody
from query.desk import Desk
from query.engine import PartGone
from query.scoped import Scope
from query.subjects import subject
from schemas.clock import instant_ms, iso
from schemas.failures import Unavailable
from schemas.plans import Group
from schemas.registry import Scope as KeyScope

MOST_NAMED = 100
"""Files that are named."""
PARTS = "parts"
"""The bound value that holds the files' addresses."""


async def explain(desk: Desk, request: Request) -> Response:
    """Answer a request."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = subject(desk, key, request)
    body = await body_of(request, CustomBody)
    one = asked(desk, body, who, key, request.query_params.get("timezone"))
    pinned = await desk.shelf.pin_at(one.plan.table.stored, one.as_of)
    try:
        sql = await one.sql(desk, pinned)
    except PartGone:
        await desk.shelf.refuse_gone(one.as_of, [one.plan.table.stored])
        raise Unavailable("The stored data cannot be read at the moment") from None
    scope = one.scope(pinned)
    return answered(
        {
            "success": True,
            "sql": sql.text,
            "values": {name: _shown(v) for name, v in sql.values.items() if name != PARTS},
            "tables": [{"name": scope.table.name, "version": pinned.version.number}],
            "files": {"count": len(scope.parts), "names": _names(scope)},
            "bytes": sum(part.size for part in scope.parts),
        }
    )


def _names(scope: Scope) -> list[str]:
    """Where the files lie below the table; nothing of the machine."""
    names = sorted(part.path.rpartition(f"/{scope.table.name}/")[2] for part in scope.parts)
    return names[:MOST_NAMED]


def _shown(value: object) -> object:
    if isinstance(value, datetime):
        return iso(instant_ms(value.isoformat()))
    return float(value) if isinstance(value, Decimal) else value
