"""POST /v1/query: one request with several queries about one subject, or an array of requests.

Each query has an outcome of its own. Each request of an array counts against the rate limit and
fails alone; all of them share one budget of time, rows and bytes.
"""

import secrets
from collections.abc import Sequence
from functools import partial
from typing import Annotated, cast

import msgspec
from msgspec import UNSET, Meta
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.endpoints.stream import STREAM_PARAMETER, SendLine, StreamedOutcomes, wants_stream
from query.formats.negotiation import (
    FILE_MEDIA_TYPES,
    FORMAT_PARAMETERS,
    check_single_query,
)
from query.formats.output_formats import JSON, Format
from query.formats.table_response import table_response
from query.request.body import decode_json, read_bytes
from query.request.filters import count_conditions
from query.request.query import Query
from query.request.query_string import PREPARED_PARAMETER, uses_prepared
from query.request.subject import SUBJECT_PARAMETERS
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import (
    BatchResponse,
    QueryComparison,
    QueryMeta,
    QueryOutcome,
    StandardMeta,
    StandardResponse,
    StreamEnd,
)
from query.response.json_response import EncodedJson, encode_within, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import MAX_ROWS, ResponseBudget
from query.run.journey import Answered, Caller, authorize, run_and_encode, run_plans
from query.run.kept_since import kept_since
from query.run.plan import QueryResult, Versions
from query.standard.comparison import compared_table
from query.standard.plan import StandardPlan
from query.standard.query_types import QUERY_TYPES
from query.standard.request import (
    DEFAULT_LIMIT,
    StandardRequest,
    StandardRequestBody,
    parse_request,
)
from schemas.errors import ApiError, Malformed, Unavailable
from schemas.http import openapi
from schemas.http.error_bodies import encode_json, query_error
from schemas.plans import Group

MAX_REQUESTS = 25
"""Requests of one body."""
TYPES_PER_REQUEST_COUNT = 10
"""Query types that count as one request; each ten more count as one more."""


async def run_standard_queries(dependencies: QueryDependencies, request: Request) -> Response:
    """Respond to a request, or to an array of them."""
    operation = ENDPOINTS[0].operation
    caller = await authorize(dependencies, request, operation, Group.QUERY, shares=True)
    body = await read_bytes(request)
    is_array, is_streamed = body.lstrip()[:1] == b"[", wants_stream(request)
    if is_streamed and (caller.format is not JSON or is_array):
        raise Malformed(
            "'stream' is for one request that is answered as JSON, not an array or a file"
        )
    if is_array:
        bodies = _split_bodies(body, caller.format)
        async with dependencies.budget(request, caller.subject.tenant) as budget:
            batch = await _run_batch(dependencies, request, caller, bodies, budget)
            return LargeResponse(json_pieces(batch), budget, media_type="application/json")
    parsed = await parse_counted(dependencies, request, caller, body)
    if caller.format is not JSON:
        check_single_query(caller.format, len(parsed.queries))
    async with dependencies.budget(request, caller.subject.tenant) as budget:
        if is_streamed:
            return StreamedOutcomes(partial(_stream, dependencies, parsed, budget), budget)
        if caller.format is not JSON:
            encode = partial(run_and_encode, partial(_file, caller.format, budget), budget)
            return (await run_plans(dependencies, budget, parsed.plans, encode)).only
        response = await _run(dependencies, parsed, budget)
        return LargeResponse(json_pieces(response), budget, media_type="application/json")


async def parse_counted(
    dependencies: QueryDependencies,
    request: Request,
    caller: Caller,
    body: bytes,
    group: Group = Group.QUERY,
) -> StandardRequest:
    """The queries of a request that is counted once already; many of them count again."""
    time_zone, subject = request.query_params.get("timezone"), caller.subject
    async with dependencies.parsing_slot(subject.tenant):
        wire_body = decode_json(body, StandardRequestBody)
        parsed = parse_request(
            wire_body, subject, time_zone, dependencies.clock(), uses_prepared(request)
        )
    if more := (len(parsed.queries) - 1) // TYPES_PER_REQUEST_COUNT:
        await dependencies.count_request(request, caller.key, group, more)
    return parsed


def _split_bodies(body: bytes, format_: Format) -> list[bytes]:
    """The requests of an array."""
    bodies = decode_json(body, list[msgspec.Raw])
    if format_ is not JSON:
        raise Malformed(
            f"Format '{format_.name}' supports a single query; send one request, not an array"
        )
    if not 1 <= len(bodies) <= MAX_REQUESTS:
        raise Malformed(
            f"The body is an array of {len(bodies)} requests; 1 to {MAX_REQUESTS} are allowed"
        )
    return [bytes(raw) for raw in bodies]


async def _run_batch(
    dependencies: QueryDependencies,
    request: Request,
    caller: Caller,
    bodies: list[bytes],
    budget: ResponseBudget,
) -> BatchResponse:
    """One request after the other; the first is already counted."""
    results = []
    for i, body in enumerate(bodies):
        savepoint = budget.savepoint()
        try:
            if i:
                await dependencies.count_request(request, caller.key, Group.QUERY)
            parsed = await parse_counted(dependencies, request, caller, body)
            result: object = await _run(dependencies, parsed, budget)
        except ApiError as error:
            budget.roll_back(savepoint)
            result = query_error(error)
        results.append(EncodedJson(tuple(json_pieces(result))))
    return BatchResponse(success=True, batch=True, results=results)


async def _run(
    dependencies: QueryDependencies,
    request: StandardRequest,
    budget: ResponseBudget,
    answered: Answered[StandardPlan, EncodedJson] | None = None,
) -> StandardResponse:
    """The response to one request: an entry for each query, and what they have in common.

    Unavailable when none of them could run.
    """
    encode = partial(run_and_encode, partial(_success_entry, budget), budget)
    run = await run_plans(dependencies, budget, request.plans, encode, answered)
    unavailable = [outcome for outcome in run.outcomes if isinstance(outcome, Unavailable)]
    if len(unavailable) == len(run.outcomes):
        raise unavailable[0]
    both = zip(request.queries, run.outcomes, strict=True)
    entries = [_entry(query, outcome) for query, outcome in both]
    return StandardResponse(
        success=True,
        query_id=request.body.id or f"q_{secrets.token_hex(8)}",
        failed=sum(isinstance(outcome, ApiError) for outcome in run.outcomes),
        data=cast(list[QueryOutcome], entries),  # each is a QueryOutcome, encoded already
        meta=_meta(dependencies, request, run.versions),
    )


async def _stream(
    dependencies: QueryDependencies,
    request: StandardRequest,
    budget: ResponseBudget,
    send_line: SendLine,
) -> object:
    """Send each outcome as soon as it is there; the last line."""

    async def answered(plan: StandardPlan, outcome: EncodedJson | ApiError) -> None:
        await send_line(_entry(plan.query, outcome))
        if isinstance(outcome, EncodedJson):
            budget.release(sum(map(len, outcome.pieces)))

    body = await _run(dependencies, request, budget, answered)
    return StreamEnd(body.success, body.query_id, body.failed, body.meta)


def _file(
    format_: Format, budget: ResponseBudget, plan: StandardPlan, result: QueryResult
) -> Response:
    """The rows of the one query as a file."""
    columns, rows = compared_table(QUERY_TYPES[plan.name], result.page.rows, result.comparison)
    return table_response(format_, plan.name, columns, rows, budget)


def _entry(query: Query, outcome: EncodedJson | ApiError) -> EncodedJson:
    """The entry of a query in the response: its encoded rows, or its error."""
    if isinstance(outcome, EncodedJson):
        return outcome
    failed = QueryOutcome(
        parameter=query.label, success=False, data=(), error=outcome.message, code=outcome.code
    )
    return EncodedJson((encode_json(failed),))


def _success_entry(budget: ResponseBudget, plan: StandardPlan, result: QueryResult) -> EncodedJson:
    comparison = result.comparison
    entry = QueryOutcome(
        parameter=plan.query.label,
        success=True,
        data=result.page.rows,
        meta=QueryMeta(
            result.page.total,
            result.partial_bucket,
            result.annotations or UNSET,
            result.engine,
            result.page.prepared or UNSET,
            result.warnings or UNSET,
        ),
        comparison=QueryComparison(comparison.start, comparison.end, comparison.rows)
        if comparison
        else UNSET,
    )
    return encode_within(entry, budget)


def _meta(
    dependencies: QueryDependencies, request: StandardRequest, versions: Versions
) -> StandardMeta:
    """What all queries of the request have in common."""
    freshness = dependencies.freshness.freshness_of(versions.values())
    body, queries = request.body, request.queries
    return StandardMeta(
        parameters=[query.label for query in queries],
        total_parameters=len(queries),
        page=_common([query.page.number for query in queries], body.page),
        limit=_common([_limit(query) for query in queries], body.limit or DEFAULT_LIMIT),
        filters_applied=_common(
            [count_conditions(body.filters) + count_conditions(q.own_filters) for q in queries],
            count_conditions(body.filters),
        ),
        timezone=queries[0].time_range.zone,
        watermark=freshness.watermark,
        lag_seconds=freshness.lag_seconds,
        stale_reason=freshness.stale_reason,
        kept_since=kept_since(dependencies, request.plans),
        versions={name: pinned.version.number for name, pinned in versions.items()},
    )


def _limit(query: Query) -> int:
    """The most rows of its page; those of an unknown type are never read."""
    query_type = QUERY_TYPES.get(query.name)
    if query_type is None:
        return query.page.limit or DEFAULT_LIMIT
    limit, _ = query.page.limit_offset(query_type.default_limit, query_type.max_limit)
    return limit


def _common(values: Sequence[int], otherwise: int) -> int:
    """What applied to all queries; that of the body where they differ."""
    return values[0] if len({*values}) == 1 else otherwise


ENDPOINTS = (
    QueryEndpoint(
        run_standard_queries,
        openapi.Operation(
            method="POST",
            path="/v1/query",
            operation_id="runQueries",
            tag="Queries",
            summary="Run one or more standard queries for a website or a link",
            description="Up to ten queries count as one request against the rate limit, every "
            "further ten as one more. Each query succeeds or fails on its own. All queries of an "
            f"HTTP request share one timeout and {MAX_ROWS:,} rows; a query that exceeds the limit "
            "fails with RESULT_TOO_LARGE.",
            parameters=(
                *SUBJECT_PARAMETERS,
                TIME_ZONE_PARAMETER,
                STREAM_PARAMETER,
                PREPARED_PARAMETER,
                *FORMAT_PARAMETERS,
            ),
            body=StandardRequestBody
            | Annotated[list[StandardRequestBody], Meta(min_length=1, max_length=MAX_REQUESTS)],
            examples={
                "three queries": {
                    "parameters": ["summary", "top_pages", "traffic"],
                    **EXAMPLE_DATES,
                },
                "an hourly series": {
                    "parameters": ["events_by_date"],
                    "startDate": "2026-11-20",
                    "endDate": "2026-11-20",
                    "granularity": "hourly",
                    "timezone": "UTC",
                },
                "filtered by country": {
                    "parameters": [{"name": "top_pages", "id": "pages in Germany"}],
                    "preset": "last_7d",
                    "filters": [{"field": "country", "operator": "eq", "value": "DE"}],
                    "limit": 5,
                },
            },
            responses=(
                openapi.Response(
                    200, "the rows", (StandardResponse, BatchResponse), FILE_MEDIA_TYPES
                ),
            ),
            errors=QUERY_ERRORS,
        ),
    ),
)
