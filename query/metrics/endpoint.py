"""POST /v1/query/metrics: metrics by dimensions, about one website."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.engine import Row
from query.engine.routing import bytes_to_read
from query.engine.snapshots import PinnedVersions
from query.engine.tenant_limits import TenantEngine
from query.formats.columns import ColumnKind, ResultColumn, group_kind
from query.formats.negotiation import FILE_MEDIA_TYPES, FORMAT_PARAMETERS, negotiate_format
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.result_table import row_values
from query.formats.table_response import table_response
from query.metrics.catalogue import definitions_of
from query.metrics.comparison import compare, comparison_columns, comparison_values
from query.metrics.execute import MetricsResult, PreparedMetrics, Versions, execute
from query.metrics.metric import Unit
from query.metrics.query import MetricsQuery
from query.metrics.request import MetricsRequest, parse_request
from query.metrics.result_rows import result_rows
from query.request.body import read_json
from query.request.query_string import check_query_string
from query.request.subject import SUBJECT_PARAMETERS, SubjectKind, authorized_subject
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import MetricsMeta, MetricsResponse, QueryComparison, ResultWarning
from query.response.json_response import EncodedJson, encode_within, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from query.standard.annotations import annotations_within
from query.standard.comparison import Comparison
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope
from schemas.telemetry.instruments import timed_query

FILE_NAME = "metrics"
WEBSITE_PARAMETER = next(p for p in SUBJECT_PARAMETERS if p.name == SubjectKind.WEBSITE)


async def run_metrics_query(dependencies: QueryDependencies, request: Request) -> Response:
    """Run a metrics query; the rows as JSON or as a file."""
    key = await dependencies.authorize_or_share(request, KeyScope.READ_DATA, Group.QUERY)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    format_ = negotiate_format(request, FORMATS, JSON)
    body = await read_json(request, MetricsRequest)
    zone = request.query_params.get("timezone")
    async with dependencies.parsing_slot(subject.tenant):
        query = parse_request(body, subject, zone, dependencies.clock())

    async def work(budget: ResponseBudget) -> Response:
        versions, compared = await _run(dependencies, query, budget)
        rows = compared.rows
        budget.add_rows(len(rows) * (1 if compared.comparison is None else 2))
        if format_ is not JSON:
            return await run_in_worker(len(rows), partial(_file, format_, query, compared, budget))
        encoded = await run_in_worker(len(rows), partial(_encoded, query, compared, budget))
        meta = _meta(dependencies, query, body, compared, versions)
        # `encoded` are JSON already; the types are those of the decoded body.
        data, comparison = cast(Any, encoded)
        response = MetricsResponse(success=True, data=data, comparison=comparison, meta=meta)
        return LargeResponse(json_pieces(response), budget, media_type="application/json")

    return await dependencies.run_within_budget(request, subject.tenant, work)


class ComparedMetrics(Struct, frozen=True):
    """The rows of one page, with their comparison if the request has one."""

    result: MetricsResult
    comparison: Comparison | None
    engine: str | UnsetType
    """The name of the engine, where there are several."""
    warnings: Sequence[ResultWarning] = ()

    @property
    def rows(self) -> Sequence[Row]:
        """The rows as SQL gives them."""
        return self.result.rows


async def _run(
    dependencies: QueryDependencies, query: MetricsQuery, budget: ResponseBudget
) -> tuple[Versions, ComparedMetrics]:
    """The rows of one page, and the versions they are from."""
    tables = list(dict.fromkeys([*query.tables, *query.further_tables]))

    async def run(pinned: PinnedVersions) -> tuple[Versions, ComparedMetrics]:
        versions = pinned.of_all(tables)
        engine = _engine_for(dependencies, query, versions)
        prepared = PreparedMetrics(query, versions, engine, budget)
        async with dependencies.active.slot(query.query.subject.tenant, budget.ends):
            with timed_query("metrics", engine.name):
                result = await execute(prepared)
            comparison = await compare(prepared, result)
            warnings = await prepared.warnings()
        return versions, ComparedMetrics(result, comparison, engine.reported_name, warnings)

    return await dependencies.snapshots.with_pinned(tables, query.query.as_of, run)


def _engine_for(
    dependencies: QueryDependencies, query: MetricsQuery, versions: Versions
) -> TenantEngine:
    asked = query.query
    ranges = [asked.time_range, *([asked.comparison_range] if asked.comparison_range else [])]
    return dependencies.standard_limiter.for_tenant(
        asked.subject.tenant, bytes_to_read(versions.values(), asked.subject.ids, ranges)
    )


def _encoded(
    query: MetricsQuery, compared: ComparedMetrics, budget: ResponseBudget
) -> tuple[EncodedJson, EncodedJson | UnsetType]:
    """The rows, and their comparison."""
    rows = encode_within(result_rows(query, compared.rows), budget)
    one = compared.comparison
    if one is None:
        return rows, UNSET
    return rows, encode_within(QueryComparison(one.start, one.end, one.rows), budget)


def _file(
    format_: Format, query: MetricsQuery, compared: ComparedMetrics, budget: ResponseBudget
) -> Response:
    columns = _columns(query)
    rows = row_values(columns, result_rows(query, compared.rows))
    if (comparison := compared.comparison) is not None:
        both = zip(rows, comparison.rows, strict=True)
        rows = [[*row, *comparison_values(query, columns, other)] for row, other in both]
        columns = [*columns, *comparison_columns(query, columns)]
    return table_response(format_, FILE_NAME, columns, rows, budget)


def _columns(query: MetricsQuery) -> list[ResultColumn]:
    """The columns of the result for file formats."""
    dimensions = [
        ResultColumn(d.name, group_kind(d.type, bool(d.time and d.time.granularity)))
        for d in query.dimensions
    ]
    return dimensions + [
        ResultColumn(
            m.name, ColumnKind.INTEGER if m.metric.unit is Unit.COUNT else ColumnKind.NUMBER
        )
        for m in query.metrics
    ]


def _meta(
    dependencies: QueryDependencies,
    query: MetricsQuery,
    body: MetricsRequest,
    compared: ComparedMetrics,
    versions: Versions,
) -> MetricsMeta:
    freshness = dependencies.freshness.freshness_of(versions.values())
    saved, time_range = query.query.subject.saved, query.query.time_range
    return MetricsMeta(
        row_count=len(compared.rows),
        total_rows=compared.result.total,
        page=body.page,
        limit=query.limit_offset[0],
        timezone=time_range.zone,
        watermark=freshness.watermark,
        lag_seconds=freshness.lag_seconds,
        stale_reason=freshness.stale_reason,
        versions={name: pinned.version.number for name, pinned in versions.items()},
        partial_bucket=_partial_bucket(query) if query.by_buckets else UNSET,
        definitions=definitions_of(query) if body.definitions else UNSET,
        annotations=(query.by_buckets and annotations_within(saved, time_range)) or UNSET,
        engine=compared.engine,
        warnings=compared.warnings or UNSET,
    )


def _partial_bucket(query: MetricsQuery) -> str | None:
    """The label of the first time bucket that can still grow."""
    own = query.query
    return own.time_range.current_bucket_label(own.now_ms, query.by_buckets[0])


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
