"""POST /v1/query/custom: one custom query about one subject."""

import time
from functools import partial
from typing import Any, cast

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from query.custom.aggregates import ResultType
from query.custom.execute import (
    CustomResult,
    PreparedCustomQuery,
    execute_custom_query,
    parse_custom_query,
    result_rows,
)
from query.custom.request import CustomRequest
from query.custom.validation import SelectedValue, ValidatedQuery
from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.formats.columns import COLUMN_KINDS, ColumnKind, ResultColumn, group_kind
from query.formats.negotiation import FILE_MEDIA_TYPES, FORMAT_PARAMETERS, negotiate_format
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.result_table import row_values
from query.formats.table_response import table_response
from query.request.body import read_json
from query.request.prepared_parameter import PREPARED_PARAMETER
from query.request.query_string import check_query_string
from query.request.subject import SUBJECT_PARAMETERS, authorized_subject
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import CustomMeta, CustomResponse
from query.response.json_response import EncodedJson, encode_within, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from query.standard.annotations import annotations_within
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope as KeyScope


async def run_custom_query(dependencies: QueryDependencies, request: Request) -> Response:
    """Run a custom query; the rows as JSON or as a file."""
    key = await dependencies.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    format_ = negotiate_format(request, FORMATS, JSON)
    started = time.perf_counter()
    body = await read_json(request, CustomRequest)
    async with dependencies.parsing_slot(subject.tenant):
        prepared = parse_custom_query(dependencies, body, subject, key, request)

    async def work(budget: ResponseBudget) -> Response:
        result = await execute_custom_query(dependencies, prepared, budget)
        budget.add_rows(len(result.rows))
        if format_ is not JSON:
            return await run_in_worker(
                len(result.rows), partial(_table, format_, prepared, result, budget)
            )
        rows = await run_in_worker(len(result.rows), partial(_rows, prepared, result, budget))
        milliseconds = round((time.perf_counter() - started) * 1000)
        meta = _meta(dependencies, body, prepared, result, milliseconds)
        # `rows` are encoded already; the type is that of the decoded body.
        response = CustomResponse(success=True, data=cast(Any, rows), meta=meta)
        return LargeResponse(json_pieces(response), budget, media_type="application/json")

    return await dependencies.run_within_budget(request, subject.organization_id, work)


def _rows(
    prepared: PreparedCustomQuery, result: CustomResult, budget: ResponseBudget
) -> EncodedJson:
    return encode_within(result_rows(prepared, result.rows), budget)


def _table(
    format_: Format, prepared: PreparedCustomQuery, result: CustomResult, budget: ResponseBudget
) -> Response:
    columns = _columns(prepared.plan)
    rows = row_values(columns, result_rows(prepared, result.rows))
    return table_response(format_, prepared.plan.table.name, columns, rows, budget)


def _meta(
    dependencies: QueryDependencies,
    body: CustomRequest,
    prepared: PreparedCustomQuery,
    result: CustomResult,
    milliseconds: int,
) -> CustomMeta:
    freshness = dependencies.freshness.freshness_of(result.versions.values())
    time_range, granularity = prepared.query.time_range, prepared.plan.granularity
    return CustomMeta(
        row_count=len(result.rows),
        execution_time=milliseconds,
        total_rows=result.total,
        page=body.page,
        limit=body.limit,
        timezone=time_range.zone,
        watermark=freshness.watermark,
        lag_seconds=freshness.lag_seconds,
        stale_reason=freshness.stale_reason,
        versions={name: pinned.version.number for name, pinned in result.versions.items()},
        engine=result.engine,
        prepared=result.prepared or UNSET,
        partial_bucket=UNSET
        if granularity is None
        else time_range.current_bucket_label(dependencies.clock(), granularity),
        annotations=(
            granularity is not None and annotations_within(prepared.query.subject.saved, time_range)
        )
        or UNSET,
    )


def _columns(plan: ValidatedQuery) -> list[ResultColumn]:
    """The columns of the result for file formats."""
    groups = [
        ResultColumn(group.name, group_kind(group.type, group.granularity is not None))
        for group in plan.groups
    ]
    return groups + [ResultColumn(select.alias, _kind(select)) for select in plan.selects]


def _kind(select: SelectedValue) -> ColumnKind:
    if select.aggregate.result is ResultType.SAME and select.column is not None:
        return COLUMN_KINDS[select.column.type]
    return ColumnKind.INTEGER if select.aggregate.name in ("count", "uniq") else ColumnKind.NUMBER


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
