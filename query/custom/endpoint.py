"""POST /v1/query/custom: one free-form question about one subject."""

import time
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from query.custom.aggregates import ResultType
from query.custom.execute import (
    CustomQuery,
    CustomResult,
    execute_custom_query,
    parse_custom_query,
    result_rows,
)
from query.custom.request import CustomRequest
from query.custom.validation import SelectedValue, ValidatedQuery
from query.dependencies import QueryDependencies
from query.formats.columns import COLUMN_KINDS, ColumnKind, ResultColumn
from query.formats.negotiation import negotiate_format
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.result_table import row_values
from query.formats.table_response import table_response
from query.request.body import read_json
from query.request.subject import authorized_subject
from query.response.json_response import EncodedJson, encode_within, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from schemas.plans import Group
from schemas.registry import KeyScope as KeyScope


async def run_custom_query(desk: QueryDependencies, request: Request) -> Response:
    """Answer a request."""
    key = desk.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = authorized_subject(desk, key, request)
    format_ = negotiate_format(request, FORMATS, JSON)
    began = time.perf_counter()
    body = await read_json(request, CustomRequest)
    one = parse_custom_query(desk, body, who, key, request.query_params.get("timezone"))

    async def work(budget: ResponseBudget) -> Response:
        page = await execute_custom_query(desk, one, budget)
        budget.add_rows(len(page.rows))
        if format_ is not JSON:
            return await run_in_worker(len(page.rows), partial(_table, format_, one, page, budget))
        rows = await run_in_worker(len(page.rows), partial(_rows, one, page, budget))
        spent = round((time.perf_counter() - began) * 1000)
        meta = {
            "rowCount": len(page.rows),
            "executionTime": spent,
            **await _meta(desk, body, one, page),
        }
        answer = json_pieces({"success": True, "data": rows, "meta": meta})
        return LargeResponse(answer, budget, media_type="application/json")

    return await desk.run_within_budget(request, who.organization_id, work)


def _rows(one: CustomQuery, page: CustomResult, budget: ResponseBudget) -> EncodedJson:
    return encode_within(result_rows(one, page.rows), budget)


def _table(
    format_: Format, one: CustomQuery, page: CustomResult, budget: ResponseBudget
) -> Response:
    columns = _columns(one.plan)
    rows = row_values(columns, result_rows(one, page.rows))
    return table_response(format_, one.plan.table.name, columns, rows, budget)


async def _meta(
    desk: QueryDependencies, body: CustomRequest, one: CustomQuery, page: CustomResult
) -> dict[str, object]:
    fresh = await desk.freshness.freshness_of([page.snapshot])
    version = page.snapshot.version
    meta: dict[str, object] = {
        "totalRows": page.total,
        "page": body.page,
        "limit": body.limit,
        "timezone": one.time_range.zone,
        "watermark": fresh.watermark,
        "lagSeconds": fresh.lag_seconds,
        "versions": {version.table.name: version.number},
    }
    if one.plan.granularity is not None:
        meta["partialBucket"] = one.time_range.current_bucket_label(
            desk.clock(), one.plan.granularity
        )
    return meta


def _columns(plan: ValidatedQuery) -> list[ResultColumn]:
    """The result's columns for a format that is a table."""
    groups = [ResultColumn(group.name, COLUMN_KINDS[group.type]) for group in plan.groups]
    return groups + [ResultColumn(each.alias, _kind(each)) for each in plan.selects]


def _kind(each: SelectedValue) -> ColumnKind:
    if each.aggregate.result is ResultType.SAME and each.column is not None:
        return COLUMN_KINDS[each.column.type]
    return ColumnKind.INTEGER if each.aggregate.name in ("count", "uniq") else ColumnKind.NUMBER
