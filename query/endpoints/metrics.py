"""POST /v1/query/metrics: metrics by dimensions, about one website."""

from typing import Any

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.endpoints.grouped import EncodedRows, respond
from query.formats.negotiation import FILE_MEDIA_TYPES, FORMAT_PARAMETERS
from query.metrics.catalogue import definitions_of
from query.metrics.plan import plan_of
from query.metrics.request import MetricsRequest, parse_request
from query.request.body import read_json
from query.request.query_string import PREPARED_PARAMETER, uses_prepared
from query.request.subject import SUBJECT_PARAMETERS, SubjectKind
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import MetricsMeta, MetricsResponse
from query.run.journey import authorize
from schemas.http import openapi
from schemas.plans import Group

WEBSITE_PARAMETER = next(p for p in SUBJECT_PARAMETERS if p.name == SubjectKind.WEBSITE)


async def run_metrics_query(dependencies: QueryDependencies, request: Request) -> Response:
    """Run a metrics query; the rows as JSON or as a file."""
    operation = ENDPOINTS[0].operation
    caller = await authorize(dependencies, request, operation, Group.QUERY, shares=True)
    body = await read_json(request, MetricsRequest)
    zone = request.query_params.get("timezone")
    async with dependencies.parsing_slot(caller.subject.tenant):
        query = parse_request(
            body, caller.subject, zone, dependencies.clock(), uses_prepared(request)
        )

    def response(encoded: EncodedRows, meta: dict[str, Any]) -> MetricsResponse:
        definitions = definitions_of(query) if body.definitions else UNSET
        rows: Any = encoded.rows  # encoded already; the type is that of the decoded body
        compared: Any = encoded.comparison
        return MetricsResponse(True, rows, MetricsMeta(**meta, definitions=definitions), compared)

    return await respond(dependencies, request, plan_of(query), caller.format, response)


ENDPOINTS = (
    QueryEndpoint(
        run_metrics_query,
        openapi.Operation(
            method="POST",
            path="/v1/query/metrics",
            operation_id="runMetricsQuery",
            tag="Queries",
            summary="Run a metrics query",
            description="Any metrics by any dimensions. A filter on a visit's fact keeps whole "
            "visits; a filter on a row's fact keeps rows for metrics of rows, and for metrics of "
            "visits the whole visits that have such a row.",
            parameters=(
                WEBSITE_PARAMETER,
                TIME_ZONE_PARAMETER,
                PREPARED_PARAMETER,
                *FORMAT_PARAMETERS,
            ),
            body=MetricsRequest,
            examples={
                "visits and bounce rate by channel": {
                    "metrics": ["visitors", "visits", "bounce_rate"],
                    "dimensions": ["visit.channel"],
                    **EXAMPLE_DATES,
                },
                "revenue and conversion rate by campaign": {
                    "metrics": [
                        "conversion_rate",
                        {
                            "metric": "sum",
                            "property": "properties.total",
                            "event": "purchase",
                            "as": "revenue",
                        },
                    ],
                    "dimensions": ["visit.channel", "visit.utm_campaign"],
                    "goals": [{"event": "purchase"}],
                    **EXAMPLE_DATES,
                },
                "page views of one campaign by day": {
                    "metrics": ["page_views"],
                    "dimensions": ["time:day"],
                    "filters": [
                        {"field": "visit.utm_campaign", "operator": "eq", "value": "spring"}
                    ],
                    **EXAMPLE_DATES,
                },
            },
            responses=(openapi.Response(200, "the rows", MetricsResponse, FILE_MEDIA_TYPES),),
            errors=QUERY_ERRORS,
        ),
    ),
)
