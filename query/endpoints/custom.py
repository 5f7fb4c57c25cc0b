"""POST /v1/query/custom: one custom query about one subject."""

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from query.custom.plan import parse_request
from query.custom.request import CustomRequest
from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.endpoints.grouped import EncodedRows, respond
from query.formats.negotiation import FILE_MEDIA_TYPES, FORMAT_PARAMETERS
from query.request.body import read_json
from query.request.query_string import PREPARED_PARAMETER, uses_prepared
from query.request.subject import SUBJECT_PARAMETERS
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import CustomMeta, CustomResponse
from query.run.journey import authorize
from schemas.http import openapi
from schemas.plans import Group


async def run_custom_query(dependencies: QueryDependencies, request: Request) -> Response:
    """Run a custom query; the rows as JSON or as a file."""
    caller = await authorize(dependencies, request, ENDPOINTS[0].operation, Group.CUSTOM)
    started = time.perf_counter()
    body = await read_json(request, CustomRequest)
    zone, prepared = request.query_params.get("timezone"), uses_prepared(request)
    async with dependencies.parsing_slot(caller.subject.tenant):
        plan = parse_request(body, caller.subject, caller.key, zone, dependencies.clock(), prepared)

    def response(encoded: EncodedRows, meta: dict[str, Any]) -> CustomResponse:
        milliseconds = round((time.perf_counter() - started) * 1000)
        rows: Any = encoded.rows  # encoded already; the type is that of the decoded body
        compared: Any = encoded.comparison
        return CustomResponse(True, rows, CustomMeta(**meta, execution_time=milliseconds), compared)

    return await respond(dependencies, request, plan, caller.format, response)


ENDPOINTS = (
    QueryEndpoint(
        run_custom_query,
        openapi.Operation(
            method="POST",
            path="/v1/query/custom",
            operation_id="runCustomQuery",
            tag="Queries",
            summary="Run a custom query",
            description="Aggregates over one table, optionally grouped. "
            "`clicks` takes link_id, or website_id for all links of its organization.",
            parameters=(
                *SUBJECT_PARAMETERS,
                TIME_ZONE_PARAMETER,
                PREPARED_PARAMETER,
                *FORMAT_PARAMETERS,
            ),
            body=CustomRequest,
            examples={
                "visitors by country": {
                    "query": {
                        "table": "events",
                        "selects": [{"field": "anonymous_id", "aggregate": "uniq", "alias": "n"}],
                        "groupBy": ["country"],
                    },
                    **EXAMPLE_DATES,
                },
                "errors that are not warnings": {
                    "query": {
                        "table": "errors",
                        "selects": [{"field": "*", "aggregate": "count", "alias": "errors"}],
                        "filters": [{"field": "level", "operator": "ne", "value": "warning"}],
                        "groupBy": ["message"],
                    },
                    "limit": 10,
                    **EXAMPLE_DATES,
                },
            },
            responses=(openapi.Response(200, "the rows", CustomResponse, FILE_MEDIA_TYPES),),
            errors=QUERY_ERRORS,
        ),
    ),
)
