"""Responses to metrics and custom queries: the rows of one grouped plan, as JSON or as a file."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.formats.output_formats import JSON, Format
from query.formats.result_table import row_values
from query.formats.table_response import table_response
from query.response.bodies import QueryComparison
from query.response.json_response import EncodedJson, encode_within, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.run.comparison import comparison_columns, comparison_values
from query.run.groups import GroupedPlan, numbers_of
from query.run.journey import run_and_encode, run_plans
from query.run.kept_since import kept_since
from query.run.plan import QueryResult, Versions


class EncodedRows(Struct, frozen=True):
    """The rows and their comparison, encoded, and the result that they are of."""

    rows: EncodedJson
    comparison: EncodedJson | UnsetType
    result: QueryResult


Body = Callable[[EncodedRows, dict[str, Any]], Struct]
"""Makes the body of a response from the rows, and the members of `meta` that both have."""


async def respond(
    dependencies: QueryDependencies,
    request: Request,
    plan: GroupedPlan,
    format_: Format,
    body: Body,
) -> Response:
    """Run the query of an authorized request, within the budget of its response."""
    async with dependencies.budget(request, plan.query.subject.tenant) as budget:
        if format_ is not JSON:
            as_file = partial(run_and_encode, partial(_file, format_, budget), budget)
            return (await run_plans(dependencies, budget, [plan], as_file)).only
        as_json = partial(run_and_encode, partial(_encoded, budget), budget)
        run = await run_plans(dependencies, budget, [plan], as_json)
        meta = _meta(dependencies, plan, run.only.result, run.versions)
        pieces = json_pieces(body(run.only, meta))
        return LargeResponse(pieces, budget, media_type="application/json")


def _encoded(budget: ResponseBudget, plan: GroupedPlan, result: QueryResult) -> EncodedRows:
    rows = encode_within(plan.result_rows(result.page.rows), budget)
    one = result.comparison
    if one is None:
        return EncodedRows(rows, UNSET, result)
    comparison = encode_within(QueryComparison(one.start, one.end, one.rows), budget)
    return EncodedRows(rows, comparison, result)


def _file(
    format_: Format, budget: ResponseBudget, plan: GroupedPlan, result: QueryResult
) -> Response:
    columns = plan.columns
    rows = row_values(columns, plan.result_rows(result.page.rows))
    if result.comparison is not None:
        by_name = {column.name: column for column in columns}
        times = [group.name for group in plan.groups if group.is_time]
        numbers = [value.name for value in numbers_of(plan)]
        both = zip(rows, result.comparison.rows, strict=True)
        rows = [[*row, *comparison_values(other, times, numbers)] for row, other in both]
        columns += comparison_columns([by_name[n] for n in times], [by_name[n] for n in numbers])
    return table_response(format_, plan.file_name, columns, rows, budget)


def _meta(
    dependencies: QueryDependencies, plan: GroupedPlan, result: QueryResult, versions: Versions
) -> dict[str, Any]:
    """What is said of the rows of either language."""
    freshness = dependencies.freshness.freshness_of(versions.values())
    return {
        "row_count": len(result.page.rows),
        "total_rows": result.page.total,
        "page": plan.query.page.number,
        "limit": plan.limit_offset[0],
        "timezone": plan.query.time_range.zone,
        "watermark": freshness.watermark,
        "lag_seconds": freshness.lag_seconds,
        "stale_reason": freshness.stale_reason,
        "kept_since": kept_since(dependencies, [plan]),
        "versions": {name: pinned.version.number for name, pinned in versions.items()},
        "partial_bucket": result.partial_bucket,
        "annotations": result.annotations or UNSET,
        "engine": result.engine,
        "prepared": result.page.prepared or UNSET,
        "warnings": result.warnings or UNSET,
    }
