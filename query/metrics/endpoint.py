"""POST /v1/query/metrics: metrics by dimensions, about one website."""

from functools import partial
from typing import Any, cast

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.formats.columns import COLUMN_KINDS, ColumnKind, ResultColumn
from query.formats.negotiation import FILE_MEDIA_TYPES, FORMAT_PARAMETERS, negotiate_format
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.result_table import row_values
from query.formats.table_response import table_response
from query.metrics.catalogue import definitions_of
from query.metrics.execute import MetricsResult, execute
from query.metrics.metrics import Unit
from query.metrics.request import MetricsQuery, MetricsRequest, parse_request
from query.request.body import read_json
from query.request.query_string import check_query_string
from query.request.subject import SUBJECT_PARAMETERS, SubjectKind, authorized_subject
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import MetricsMeta, MetricsResponse
from query.response.json_response import EncodedJson, encode_within, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope
from schemas.tables import EVENTS

FILE_NAME = "metrics"
WEBSITE_PARAMETER = next(p for p in SUBJECT_PARAMETERS if p.name == SubjectKind.WEBSITE)


async def run_metrics_query(dependencies: QueryDependencies, request: Request) -> Response:
    """Run a metrics query; the rows as JSON or as a file."""
    key = dependencies.authorize(request, KeyScope.READ_DATA, Group.QUERY)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    format_ = negotiate_format(request, FORMATS, JSON)
    body = await read_json(request, MetricsRequest)
    zone = request.query_params.get("timezone")
    query = parse_request(body, subject, zone, dependencies.clock())

    async def work(budget: ResponseBudget) -> Response:
        pinned, result = await _run(dependencies, query, budget)
        budget.add_rows(len(result.rows))
        if format_ is not JSON:
            return await run_in_worker(
                len(result.rows), partial(_file, format_, query, result, budget)
            )
        rows = await run_in_worker(len(result.rows), partial(_encoded, result, budget))
        meta = await _meta(dependencies, query, body, result, pinned)
        # `rows` are encoded already; the type is that of the decoded body.
        response = MetricsResponse(success=True, data=cast(Any, rows), meta=meta)
        return LargeResponse(json_pieces(response), budget, media_type="application/json")

    return await dependencies.run_within_budget(request, subject.organization_id, work)


async def _run(
    dependencies: QueryDependencies, query: MetricsQuery, budget: ResponseBudget
) -> tuple[PinnedVersion, MetricsResult]:
    """The rows of one page, and the version they are from."""
    engine = dependencies.standard_limiter.for_tenant(query.query.subject.organization_id)

    async def run(pinned: PinnedVersions) -> tuple[PinnedVersion, MetricsResult]:
        version = pinned.of(EVENTS)
        return version, await execute(query, version, engine, budget.seconds)

    return await dependencies.snapshots.with_pinned([EVENTS], query.query.as_of, run)


def _encoded(result: MetricsResult, budget: ResponseBudget) -> EncodedJson:
    return encode_within(result.rows, budget)


def _file(
    format_: Format, query: MetricsQuery, result: MetricsResult, budget: ResponseBudget
) -> Response:
    columns = _columns(query)
    return table_response(format_, FILE_NAME, columns, row_values(columns, result.rows), budget)


def _columns(query: MetricsQuery) -> list[ResultColumn]:
    """The columns of the result for file formats."""
    dimensions = [ResultColumn(d.name, COLUMN_KINDS[d.type]) for d in query.dimensions]
    return dimensions + [
        ResultColumn(
            m.name, ColumnKind.INTEGER if m.metric.unit is Unit.COUNT else ColumnKind.NUMBER
        )
        for m in query.metrics
    ]


async def _meta(
    dependencies: QueryDependencies,
    query: MetricsQuery,
    body: MetricsRequest,
    result: MetricsResult,
    pinned: PinnedVersion,
) -> MetricsMeta:
    freshness = await dependencies.freshness.freshness_of([pinned])
    return MetricsMeta(
        row_count=len(result.rows),
        total_rows=result.total,
        page=body.page,
        limit=query.limit_offset[0],
        timezone=query.query.time_range.zone,
        watermark=freshness.watermark,
        lag_seconds=freshness.lag_seconds,
        versions={pinned.version.table.name: pinned.version.number},
        partial_bucket=_partial_bucket(query),
        definitions=definitions_of(query) if body.definitions else UNSET,
    )


def _partial_bucket(query: MetricsQuery) -> Any:
    """The label of the first time bucket that can still grow; UNSET without one."""
    for dimension in query.dimensions:
        if dimension.time and (granularity := dimension.time.granularity):
            return query.query.time_range.current_bucket_label(query.query.now_ms, granularity)
    return UNSET


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
            parameters=(WEBSITE_PARAMETER, TIME_ZONE_PARAMETER, *FORMAT_PARAMETERS),
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
