"""GET /v1/export/{table}: the stored rows of one subject as a file of any size."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from query.custom.row_access import row_access
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


async def export_rows(dependencies: QueryDependencies, request: Request) -> Response:
    """Stream the rows of an export."""
    key = dependencies.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    subject = authorized_subject(dependencies, key, request)
    format_ = negotiate_format(request, FILE_FORMATS, NDJSON)
    export_query = parse_export_query(
        request.path_params["table"], request.query_params, dependencies.clock(), subject.time_zone
    )
    access = row_access(export_query.table, subject, key)
    columns = [
        ResultColumn(column.name, COLUMN_KINDS[column.type]) for column in export_query.columns
    ]

    async def batches() -> AsyncGenerator[Sequence[Row], None]:
        with dependencies.export_limiter.slot(key.organization_id):
            async with aclosing(export_batches(dependencies, export_query, access)) as all_batches:
                async for batch in all_batches:
                    yield batch

    def allowed() -> bool:
        try:
            authorized_subject(
                dependencies, dependencies.authenticate(request, KeyScope.READ_DATA), request
            )
        except ApiError:
            return False
        return True

    return StreamedResponse(format_, export_query.table.name, columns, batches(), allowed)
