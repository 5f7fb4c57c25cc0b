"""POST /v1/query/compile: the SQL of queries, and what they would read; it runs none of them.

A body with `parameters` has standard queries (`query/standard/explain.py`), else it is a custom
query.
"""

from functools import partial
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.custom.execute import (
    PreparedCustomQuery,
    custom_engine,
    parse_custom_query,
    prepared_rows,
)
from query.custom.request import CustomRequest
from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.snapshots import PinnedVersions
from query.prepared.not_prepared import NotPrepared
from query.request.body import decode_json, read_bytes
from query.request.prepared_parameter import PREPARED_PARAMETER
from query.request.query_string import check_query_string
from query.request.subject import SUBJECT_PARAMETERS, QuerySubject, authorized_subject
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.compiled_bodies import CompiledQueries, ExplainResponse, TableScan
from query.response.json_response import json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.standard.endpoint import parse_counted
from query.standard.explain import explain_queries, shown_values, subject_rows
from query.standard.request import StandardRequest, StandardRequestBody
from schemas.errors import ApiError, Malformed, NotAcceptable
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import Key
from schemas.registry import KeyScope as KeyScope


class _Members(Struct):
    """The members that bodies of standard and of metrics queries have."""

    parameters: Raw | UnsetType = UNSET
    metrics: Raw | UnsetType = UNSET


async def explain(dependencies: QueryDependencies, request: Request) -> Response:
    """Explain standard queries or a custom query without running them."""
    key = await dependencies.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    body = await read_bytes(request)
    if has_parameters(body):
        parsed = await parse_counted(dependencies, request, key, subject, body, Group.CUSTOM)
        work: Any = partial(_explained_queries, dependencies, parsed)
    else:
        work = partial(_explained, dependencies, _custom(dependencies, request, key, subject, body))
    return await dependencies.run_within_budget(request, subject.organization_id, work)


def has_parameters(body: bytes) -> bool:
    """Whether a body has standard queries; whatever else is wrong with it is found later.

    Malformed when it has a metrics query.
    """
    try:
        members = decode_json(body, _Members)
    except ApiError:
        return False
    if members.metrics is not UNSET and members.parameters is UNSET:
        raise Malformed("Queries of 'metrics' cannot be compiled; give 'parameters' or 'query'")
    return members.parameters is not UNSET


def _custom(
    dependencies: QueryDependencies, request: Request, key: Key, subject: QuerySubject, body: bytes
) -> PreparedCustomQuery:
    wire_body = decode_json(body, CustomRequest)
    return parse_custom_query(dependencies, wire_body, subject, key, request)


async def _explained_queries(
    dependencies: QueryDependencies, request: StandardRequest, budget: ResponseBudget
) -> Response:
    body = await explain_queries(dependencies, request, budget)
    return LargeResponse(json_pieces(body), budget, media_type="application/json")


async def _explained(
    dependencies: QueryDependencies, prepared: PreparedCustomQuery, budget: ResponseBudget
) -> Response:
    """SQL, bound values and row counts, from one version of each table."""
    tables = prepared.tables

    async def run(pinned: PinnedVersions) -> ExplainResponse:
        versions = pinned.of_all(tables)
        engine = custom_engine(dependencies, prepared.query, versions)
        sql = await prepared.sql(engine, versions)
        scope = prepared.scope(versions)
        scans = [
            TableScan(
                name,
                version.version.number,
                await subject_rows(engine, scope, version, budget.seconds),
            )
            for name, version in versions.items()
        ]
        reason = ""
        try:
            await prepared_rows(dependencies, engine, prepared, versions, budget)
        except NotPrepared as untold:
            reason = str(untold)
        return ExplainResponse(
            success=True,
            sql=sql.text,
            values=shown_values(sql),
            tables=scans,
            engine=engine.reported_name,
            prepared=not reason,
            reason=reason or UNSET,
        )

    body = await dependencies.snapshots.with_pinned(tables, prepared.query.as_of, run)
    return LargeResponse(json_pieces(body), budget, media_type="application/json")


ENDPOINTS = (
    QueryEndpoint(
        explain,
        openapi.Operation(
            method="POST",
            path="/v1/query/compile",
            operation_id="explainQuery",
            tag="Queries",
            summary="Show the SQL of queries and the rows they would read, without running it",
            description="Takes the body of `POST /v1/query` (one request) or of `POST "
            "/v1/query/custom`. It also says whether prepared results answer it, or why not.",
            parameters=(*SUBJECT_PARAMETERS, TIME_ZONE_PARAMETER, PREPARED_PARAMETER),
            body=(CustomRequest, StandardRequestBody),
            examples={
                "a count": {
                    "query": {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]},
                    **EXAMPLE_DATES,
                },
                "standard queries": {"parameters": ["summary", "top_pages"], **EXAMPLE_DATES},
            },
            responses=(
                openapi.Response(200, "the statements", (ExplainResponse, CompiledQueries)),
            ),
            errors=tuple(error for error in QUERY_ERRORS if error is not NotAcceptable),
        ),
    ),
)
