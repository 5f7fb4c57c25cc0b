"""GET /v1/export/{table}: the stored rows of one subject as a file of any size."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.engine import Row
from query.export.request import EXPORT_TABLES, PERSONS, parse_export
from query.export.slices import export_batches
from query.formats.columns import COLUMN_KINDS, ResultColumn
from query.formats.negotiation import FILE_MEDIA_TYPES, format_parameters, negotiate_format
from query.formats.output_formats import FILE_FORMATS, NDJSON
from query.formats.streamed_response import StreamedResponse
from query.request.presets import PRESETS
from query.request.query_string import check_query_string
from query.request.subject import SUBJECT_PARAMETERS, authorized_subject
from schemas.errors import ApiError
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope


async def export_rows(dependencies: QueryDependencies, request: Request) -> Response:
    """Stream the rows of an export."""
    key = await dependencies.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    format_ = negotiate_format(request, FILE_FORMATS, NDJSON)
    export = parse_export(
        request.path_params["table"], request.query_params, dependencies.clock(), subject, key
    )
    columns = [ResultColumn(column.name, COLUMN_KINDS[column.type]) for column in export.columns]

    async def batches() -> AsyncGenerator[Sequence[Row], None]:
        with dependencies.export_limiter.slot(key.organization_id):
            async with aclosing(export_batches(dependencies, export)) as all_batches:
                async for batch in all_batches:
                    yield batch

    return StreamedResponse(
        format_, export.table.name, columns, batches(), still_allowed(dependencies, request)
    )


def still_allowed(dependencies: QueryDependencies, request: Request) -> Callable[[], bool]:
    """A check whether the key of a running export still has access to its subject."""

    def allowed() -> bool:
        try:
            authorized_subject(
                dependencies, dependencies.authenticate(request, KeyScope.READ_DATA), request
            )
        except ApiError:
            return False
        return True

    return allowed


ENDPOINTS = (
    QueryEndpoint(
        export_rows,
        openapi.Operation(
            method="GET",
            path="/v1/export/{table}",
            operation_id="exportRows",
            tag="Queries",
            summary="Export the rows of a table",
            description="Rows are ordered by time. "
            "If the connection closes early, the export is incomplete.",
            parameters=(
                openapi.Parameter(
                    "table",
                    "the table",
                    {"type": "string", "enum": list(EXPORT_TABLES)},
                    required=True,
                    location="path",
                    example="events",
                ),
                *SUBJECT_PARAMETERS,
                openapi.Parameter("startDate", "first day, or instant", example="2026-11-01"),
                openapi.Parameter("endDate", "last day, inclusive", example="2026-11-30"),
                openapi.Parameter("preset", f"instead of dates: {', '.join(PRESETS)}"),
                openapi.Parameter("timezone", "IANA time zone of the dates, such as Europe/Berlin"),
                openapi.Parameter(
                    "columns",
                    "comma-separated; all stored ones when absent; facts of the visit and the "
                    "visitor, such as visit.channel and visitor.first_seen, too",
                    example="ts,name",
                ),
                openapi.Parameter(
                    "filters",
                    "a JSON array of filters, as in queries",
                    example='[{"field":"country","operator":"eq","value":"DE"}]',
                ),
                openapi.Parameter("include_bots", "include bot traffic", {"type": "boolean"}),
                openapi.Parameter(
                    "person",
                    "whose deeds count in has_done: those of a device, or of all devices of its "
                    "profile; the rows keep their own ids",
                    {"type": "string", "enum": list(PERSONS)},
                ),
                openapi.Parameter(
                    "asOf",
                    "table version, from 'meta.versions' of an earlier response; or that object, "
                    "as JSON",
                ),
                *format_parameters(FILE_FORMATS, NDJSON),
            ),
            responses=(openapi.Response(200, "a file", None, FILE_MEDIA_TYPES),),
            errors=QUERY_ERRORS,
        ),
    ),
)
