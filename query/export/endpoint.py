"""GET /v1/export/{table}: the stored rows of one subject as a file of any size."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from query.custom.execute import seen_by
from query.dependencies import Desk
from query.engine.engine import Row
from query.export.request import wanted
from query.export.slices import exported
from query.formats.columns import KINDS, Column
from query.formats.negotiation import chosen
from query.formats.output_formats import FILES, NDJSON
from query.formats.streamed_response import Streamed
from query.request.subject import subject
from schemas.errors import Failure
from schemas.plans import Group
from schemas.registry import Scope as KeyScope


async def export(desk: Desk, request: Request) -> Response:
    """Answer a request."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = subject(desk, key, request)
    format_ = chosen(request, FILES, NDJSON)
    asked = wanted(request.path_params["table"], request.query_params, desk.clock(), who.zone)
    seen = seen_by(asked.table, who, key)
    columns = [Column(column.name, KINDS[column.type]) for column in asked.columns]

    async def batches() -> AsyncGenerator[Sequence[Row], None]:
        with desk.turns.taken(key.organization_id):
            async with aclosing(exported(desk, asked, seen)) as all_batches:
                async for batch in all_batches:
                    yield batch

    def allowed() -> bool:
        try:
            subject(desk, desk.key(request, KeyScope.READ_DATA), request)
        except Failure:
            return False
        return True

    return Streamed(format_, asked.table.name, columns, batches(), allowed)
