"""POST /v1/query: one request with several queries about one subject, or an array of requests.

Each query has an outcome of its own. Each request of an array counts against the rate limit and
fails alone; all of them share one budget of time, rows and bytes.
"""

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.formats.negotiation import (
    FILE_MEDIA_TYPES,
    FORMAT_PARAMETERS,
    check_single_query,
    negotiate_format,
)
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.table_response import table_response
from query.request.body import decode_json, read_bytes
from query.request.prepared_parameter import PREPARED_PARAMETER, uses_prepared
from query.request.query import Query
from query.request.query_string import check_query_string
from query.request.subject import SUBJECT_PARAMETERS, QuerySubject, authorized_subject
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import (
    BatchResponse,
    StandardResponse,
    StreamEnd,
)
from query.response.json_response import EncodedJson, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import MAX_ROWS, ResponseBudget
from query.standard.batch import ComparedResult, run_all
from query.standard.comparison_columns import compared_table
from query.standard.query_types import QUERY_TYPES
from query.standard.request import (
    StandardRequest,
    StandardRequestBody,
    parse_request,
)
from query.standard.response import entry_of, response_body
from query.standard.stream import STREAM_PARAMETER, SendLine, StreamedOutcomes, wants_stream
from schemas.errors import ApiError, Malformed
from schemas.http import openapi
from schemas.http.error_bodies import query_error
from schemas.plans import Group
from schemas.registry import Key, KeyScope

MAX_REQUESTS = 25
"""Requests of one body."""
TYPES_PER_REQUEST_COUNT = 10
"""Query types that count as one request; each ten more count as one more."""


async def run_standard_queries(dependencies: QueryDependencies, request: Request) -> Response:
    """Respond to a request, or to an array of them."""
    key = await dependencies.authorize_or_share(request, KeyScope.READ_DATA, Group.QUERY)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    format_ = negotiate_format(request, FORMATS, JSON)
    body = await read_bytes(request)
    streamed = wants_stream(request)
    if streamed and (format_ is not JSON or body.lstrip()[:1] == b"["):
        raise Malformed(
            "'stream' is for one request that is answered as JSON, not an array or a file"
        )
    if body.lstrip()[:1] == b"[":
        bodies = _split_bodies(body, format_)
        respond = partial(_batch_response, dependencies, request, key, subject, bodies)
    else:
        parsed = await parse_counted(dependencies, request, key, subject, body)
        if streamed:
            respond = partial(_streamed_response, dependencies, parsed)
        elif format_ is JSON:
            respond = partial(_single_response, dependencies, parsed)
        else:
            check_single_query(format_, len(parsed.queries))
            respond = partial(_file_response, dependencies, parsed.queries[0], format_)
    return await dependencies.run_within_budget(request, subject.tenant, respond)


async def parse_counted(
    dependencies: QueryDependencies,
    request: Request,
    key: Key,
    subject: QuerySubject,
    body: bytes,
    group: Group = Group.QUERY,
) -> StandardRequest:
    """The queries of a request that is counted once already; many of them count again."""
    time_zone = request.query_params.get("timezone")
    async with dependencies.parsing_slot(subject.tenant):
        wire_body = decode_json(body, StandardRequestBody)
        parsed = parse_request(
            wire_body, subject, time_zone, dependencies.clock(), uses_prepared(request)
        )
    if more := (len(parsed.queries) - 1) // TYPES_PER_REQUEST_COUNT:
        await dependencies.count_request(request, key, group, more)
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


async def _single_response(
    dependencies: QueryDependencies, request: StandardRequest, budget: ResponseBudget
) -> Response:
    return _response(await response_body(dependencies, request, budget), budget)


async def _batch_response(
    dependencies: QueryDependencies,
    request: Request,
    key: Key,
    subject: QuerySubject,
    bodies: list[bytes],
    budget: ResponseBudget,
) -> Response:
    """One request after the other; the first is already counted."""
    results = []
    for i, body in enumerate(bodies):
        savepoint = budget.savepoint()
        try:
            if i:
                await dependencies.count_request(request, key, Group.QUERY)
            parsed = await parse_counted(dependencies, request, key, subject, body)
            result: object = await response_body(dependencies, parsed, budget)
        except ApiError as error:
            budget.roll_back(savepoint)
            result = query_error(error)
        results.append(EncodedJson(tuple(json_pieces(result))))
    return _response(BatchResponse(success=True, batch=True, results=results), budget)


async def _file_response(
    dependencies: QueryDependencies, query: Query, format_: Format, budget: ResponseBudget
) -> Response:
    """The rows of the one query as a file."""

    def encode(query: Query, compared: ComparedResult) -> Response:
        columns, rows = compared_table(
            QUERY_TYPES[query.name], compared.result.rows, compared.comparison
        )
        return table_response(format_, query.name, columns, rows, budget)

    _, [outcome] = await run_all([query], dependencies, budget, encode)
    if isinstance(outcome, ApiError):
        raise outcome
    return outcome


async def _streamed_response(
    dependencies: QueryDependencies, request: StandardRequest, budget: ResponseBudget
) -> Response:
    """Each outcome as soon as it is there."""

    async def run(send_line: SendLine) -> object:
        async def answered(query: Query, outcome: EncodedJson | ApiError) -> None:
            await send_line(entry_of(query, outcome))
            if isinstance(outcome, EncodedJson):
                budget.release(sum(map(len, outcome.pieces)))

        body = await response_body(dependencies, request, budget, answered)
        return StreamEnd(body.success, body.query_id, body.failed, body.meta)

    return StreamedOutcomes(run, budget)


def _response(body: StandardResponse | BatchResponse, budget: ResponseBudget) -> Response:
    return LargeResponse(json_pieces(body), budget, media_type="application/json")


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
