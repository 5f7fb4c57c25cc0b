"""The response to one request: an entry for each query, and what they have in common."""

import secrets
from collections.abc import Sequence
from typing import cast

from msgspec import UNSET

from query.dependencies import QueryDependencies
from query.request.filters import count_conditions
from query.request.query import Query
from query.response.bodies import (
    QueryComparison,
    QueryMeta,
    QueryOutcome,
    StandardMeta,
    StandardResponse,
)
from query.response.json_response import EncodedJson, encode_within
from query.response.response_budget import ResponseBudget
from query.standard.batch import Answered, ComparedResult, Versions, no_action, run_all
from query.standard.query_types import QUERY_TYPES
from query.standard.request import DEFAULT_LIMIT, StandardRequest
from schemas.errors import ApiError
from schemas.http.error_bodies import encode_json


async def response_body(
    dependencies: QueryDependencies,
    request: StandardRequest,
    budget: ResponseBudget,
    answered: Answered[EncodedJson] = no_action,
) -> StandardResponse:
    """The response to one request: an entry for each query, and what they have in common."""

    def encode(query: Query, compared: ComparedResult) -> EncodedJson:
        return encode_within(_success_entry(query, compared), budget)

    versions, outcomes = await run_all(request.queries, dependencies, budget, encode, answered)
    entries = [
        entry_of(query, outcome) for query, outcome in zip(request.queries, outcomes, strict=True)
    ]
    return StandardResponse(
        success=True,
        query_id=request.body.id or f"q_{secrets.token_hex(8)}",
        failed=sum(isinstance(outcome, ApiError) for outcome in outcomes),
        data=cast(list[QueryOutcome], entries),  # each is a QueryOutcome, encoded already
        meta=_meta(dependencies, request, versions),
    )


def entry_of(query: Query, outcome: EncodedJson | ApiError) -> EncodedJson:
    """The entry of a query in the response: its encoded rows, or its error."""
    if isinstance(outcome, EncodedJson):
        return outcome
    failed = QueryOutcome(
        parameter=query.label, success=False, data=(), error=outcome.message, code=outcome.code
    )
    return EncodedJson((encode_json(failed),))


def _success_entry(query: Query, compared: ComparedResult) -> QueryOutcome:
    timed, comparison = QUERY_TYPES[query.name].starts_with_time, compared.comparison
    return QueryOutcome(
        parameter=query.label,
        success=True,
        data=compared.result.rows,
        meta=QueryMeta(
            compared.result.total,
            compared.partial if timed else UNSET,
            compared.annotations or UNSET,
            compared.engine,
            compared.result.prepared or UNSET,
            compared.warnings or UNSET,
        ),
        comparison=QueryComparison(comparison.start, comparison.end, comparison.rows)
        if comparison
        else UNSET,
    )


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
