"""GET /v1/export/{table}: the stored rows of one subject as a file of any size."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from query.custom.execute import row_access
from query.dependencies import QueryDependencies
from query.engine.engine import Row
from query.export.request import parse_export_query
from query.export.slices import export_batches
from query.formats.columns import COLUMN_KINDS, ResultColumn
from query.formats.negotiation import negotiate_format
from query.formats.output_formats import FILE_FORMATS, NDJSON
from query.formats.streamed_response import StreamedResponse
from query.request.subject import authorized_subject
from schemas.errors import ApiError
from schemas.plans import Group
from schemas.registry import KeyScope as KeyScope


async def export_rows(desk: QueryDependencies, request: Request) -> Response:
    """Answer a request."""
    key = desk.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = authorized_subject(desk, key, request)
    format_ = negotiate_format(request, FILE_FORMATS, NDJSON)
    asked = parse_export_query(
        request.path_params["table"], request.query_params, desk.clock(), who.time_zone
    )
    seen = row_access(asked.table, who, key)
    columns = [ResultColumn(column.name, COLUMN_KINDS[column.type]) for column in asked.columns]

    async def batches() -> AsyncGenerator[Sequence[Row], None]:
        with desk.export_limiter.slot(key.organization_id):
            async with aclosing(export_batches(desk, asked, seen)) as all_batches:
                async for batch in all_batches:
                    yield batch

    def allowed() -> bool:
        try:
            authorized_subject(desk, desk.authenticate(request, KeyScope.READ_DATA), request)
        except ApiError:
            return False
        return True

    return StreamedResponse(format_, asked.table.name, columns, batches(), allowed)
