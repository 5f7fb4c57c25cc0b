"""POST /v1/query: several named questions about one subject; each has an outcome of its own.

A body may be an array of such requests. Each counts against the allowance by itself and fails
alone, and all of them share one budget of time, rows and bytes.
"""

import secrets
from functools import partial

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.formats.negotiation import check_single_query, negotiate_format
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.result_table import result_table
from query.formats.table_response import table_response
from query.request.body import decode_json, read_bytes
from query.request.filters import count_conditions
from query.request.subject import QuerySubject, authorized_subject
from query.response.json_response import EncodedJson, encode_within, json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.standard.batch import ComparedResult, QueryBatch, Snapshots, execute_batch
from query.standard.query_types import QUERY_TYPES
from query.standard.request import (
    DEFAULT_LIMIT,
    StandardQuery,
    StandardRequest,
    StandardRequestBody,
    parse_request,
)
from schemas.errors import ApiError, Malformed
from schemas.http.error_bodies import encode_json, query_error
from schemas.plans import Group
from schemas.registry import Key
from schemas.registry import KeyScope as KeyScope

JsonObject = dict[str, object]

MAX_REQUESTS = 25
"""Requests of one body."""
TYPES_PER_REQUEST_COUNT = 10
"""Query types that one request may name for the allowance of one; each ten more cost one more."""


async def run_standard_queries(desk: QueryDependencies, request: Request) -> Response:
    """Answer a request, or an array of them."""
    key = desk.authorize(request, KeyScope.READ_DATA, Group.QUERY)
    who = authorized_subject(desk, key, request)
    format_ = negotiate_format(request, FORMATS, JSON)
    body = await read_bytes(request)
    if body.lstrip()[:1] == b"[":
        bodies = _bodies(body, format_)
        return await desk.run_within_budget(
            request, who.organization_id, partial(_batch_response, desk, request, key, who, bodies)
        )
    asked = _parse_request(desk, request, key, who, body)
    if format_ is JSON:
        return await desk.run_within_budget(
            request, who.organization_id, partial(_single_response, desk, who, asked)
        )
    check_single_query(format_, len(asked.queries))
    return await desk.run_within_budget(
        request, who.organization_id, partial(_file_response, desk, who, asked, format_)
    )


def _parse_request(
    desk: QueryDependencies, request: Request, key: Key, who: QuerySubject, body: bytes
) -> StandardRequest:
    """The questions of a request, which is counted once already."""
    zone = request.query_params.get("timezone")
    asked = parse_request(decode_json(body, StandardRequestBody), zone, desk.clock(), who.time_zone)
    if more := (len(asked.queries) - 1) // TYPES_PER_REQUEST_COUNT:
        desk.count_request(request, key, Group.QUERY, more)
    return asked


def _bodies(body: bytes, format_: Format) -> list[bytes]:
    """The requests of an array."""
    bodies = decode_json(body, list[msgspec.Raw])
    if format_ is not JSON:
        raise Malformed(f"Format '{format_.name}' holds one table; send one request, not an array")
    if not 1 <= len(bodies) <= MAX_REQUESTS:
        raise Malformed(
            f"The body is an array of {len(bodies)} requests; 1 to {MAX_REQUESTS} are allowed"
        )
    return [bytes(each) for each in bodies]


async def _single_response(
    desk: QueryDependencies, who: QuerySubject, asked: StandardRequest, budget: ResponseBudget
) -> Response:
    return _response(await _response_body(QueryBatch(desk, who, asked, budget)), budget)


async def _batch_response(
    desk: QueryDependencies,
    request: Request,
    key: Key,
    who: QuerySubject,
    bodies: list[bytes],
    budget: ResponseBudget,
) -> Response:
    """One request after the other; the first is already counted."""
    results = []
    for i, each in enumerate(bodies):
        before = budget.savepoint()
        try:
            if i:
                desk.count_request(request, key, Group.QUERY)
            asked = _parse_request(desk, request, key, who, each)
            result = await _response_body(QueryBatch(desk, who, asked, budget))
        except ApiError as refused:
            budget.roll_back(before)
            result = query_error(refused)
        results.append(EncodedJson(tuple(json_pieces(result))))
    return _response({"success": True, "batch": True, "results": results}, budget)


async def _file_response(
    desk: QueryDependencies,
    who: QuerySubject,
    asked: StandardRequest,
    format_: Format,
    budget: ResponseBudget,
) -> Response:
    """The rows of the one query type that is asked."""

    def make(one: StandardQuery, answered: ComparedResult) -> Response:
        columns, rows = result_table(QUERY_TYPES[one.name].row, answered.result.rows)
        return table_response(format_, one.name, columns, rows, budget)

    _, [outcome] = await execute_batch(QueryBatch(desk, who, asked, budget), make)
    if isinstance(outcome, ApiError):
        raise outcome
    return outcome


async def _response_body(batch: QueryBatch) -> JsonObject:
    """The answer to one request, as the contract has it."""

    def make(one: StandardQuery, answered: ComparedResult) -> EncodedJson:
        return encode_within(_success_entry(one, answered), batch.budget)

    pins, outcomes = await execute_batch(batch, make)
    return {
        "success": True,
        "queryId": f"q_{secrets.token_hex(8)}",
        "data": [
            _error_entry(one, outcome) if isinstance(outcome, ApiError) else outcome
            for one, outcome in zip(batch.request.queries, outcomes, strict=True)
        ],
        "meta": await _meta(batch.desk, batch.request, pins),
    }


def _response(body: JsonObject, budget: ResponseBudget) -> Response:
    return LargeResponse(json_pieces(body), budget, media_type="application/json")


def _error_entry(one: StandardQuery, failure: ApiError) -> EncodedJson:
    entry: JsonObject = {
        "parameter": one.label,
        "success": False,
        "error": failure.message,
        "code": failure.code,
        "data": [],
    }
    return EncodedJson((encode_json(entry),))


def _success_entry(one: StandardQuery, answered: ComparedResult) -> JsonObject:
    meta: JsonObject = {"totalRows": answered.result.total}
    if QUERY_TYPES[one.name].starts_with_time:
        meta["partialBucket"] = answered.partial
    entry: JsonObject = {"parameter": one.label, "success": True, "data": answered.result.rows}
    compared = answered.comparison
    shown = {"comparison": structs.asdict(compared)} if compared else {}
    return {**entry, "meta": meta, **shown}


async def _meta(desk: QueryDependencies, asked: StandardRequest, pins: Snapshots) -> JsonObject:
    fresh = await desk.freshness.freshness_of(pins.values())
    return {
        "parameters": [one.label for one in asked.queries],
        "total_parameters": len(asked.queries),
        "page": asked.page.number,
        "limit": asked.page.limit or DEFAULT_LIMIT,
        "filters_applied": count_conditions(asked.filters),
        "timezone": asked.time_zone,
        "watermark": fresh.watermark,
        "lagSeconds": fresh.lag_seconds,
        "versions": {name: pinned.version.number for name, pinned in pins.items()},
    }
