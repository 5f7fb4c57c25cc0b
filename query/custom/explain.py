"""POST /v1/query/compile: the SQL of a custom query, and what it would read.

Data files hold rows of all tenants, so neither their number nor their size is shown, only the rows
of the subject itself.
"""

from datetime import datetime
from decimal import Decimal
from functools import partial

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from query.custom.execute import PreparedCustomQuery, custom_engine, parse_custom_query
from query.custom.request import CustomRequest
from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.engine import Engine, Sql
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.request.body import read_json
from query.request.query_string import check_query_string
from query.request.subject import SUBJECT_PARAMETERS, authorized_subject
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.bodies import ExplainResponse, TableScan
from query.response.json_response import json_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget
from query.scope.scope import Scope, scoped_rows
from query.sql.fragment import Fragment
from query.sql.select import Select, render
from schemas.errors import NotAcceptable
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope as KeyScope
from schemas.runtime.clock import format_instant, parse_instant_ms

FILES_PARAMETER = "parts"
"""The end of the names of bound values with the paths of data files."""


async def explain_custom_query(dependencies: QueryDependencies, request: Request) -> Response:
    """Explain a custom query without running it."""
    key = dependencies.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    body = await read_json(request, CustomRequest)
    prepared = parse_custom_query(
        dependencies, body, subject, key, request.query_params.get("timezone")
    )
    return await dependencies.run_within_budget(
        request, subject.organization_id, partial(_explained, dependencies, prepared)
    )


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
            TableScan(name, version.version.number, await _rows(engine, scope, version, budget))
            for name, version in versions.items()
        ]
        values = {
            name: _shown(value)
            for name, value in sql.values.items()
            if name.split("_")[-1] != FILES_PARAMETER
        }
        return ExplainResponse(
            success=True, sql=sql.text, values=values, tables=scans, engine=engine.reported_name
        )

    body = await dependencies.snapshots.with_pinned(tables, prepared.query.as_of, run)
    return LargeResponse(json_pieces(body), budget, media_type="application/json")


async def _rows(engine: Engine, scope: Scope, pinned: PinnedVersion, budget: ResponseBudget) -> int:
    """Rows of the subject in the time range in that version, before any filter."""
    everything = structs.replace(
        scope,
        pinned=pinned,
        where=Fragment(),
        later=Fragment(),
        include_bots=True,
        by_profile=False,
        names_person=False,
    )
    scoped = await scoped_rows(engine, everything, [])
    count = Select(relations=scoped.relations, body="SELECT COUNT(*) FROM scoped")
    [(rows,)] = await engine.rows(Sql(render(count, engine.dialect), scoped.values), budget.seconds)
    return int(rows)


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(element) for element in value]
    if isinstance(value, datetime):
        return format_instant(parse_instant_ms(value.isoformat()))
    return float(value) if isinstance(value, Decimal) else value


ENDPOINTS = (
    QueryEndpoint(
        explain_custom_query,
        openapi.Operation(
            method="POST",
            path="/v1/query/compile",
            operation_id="explainCustomQuery",
            tag="Queries",
            summary="Show the SQL of a custom query and the rows it would read, without running it",
            parameters=(*SUBJECT_PARAMETERS, TIME_ZONE_PARAMETER),
            body=CustomRequest,
            examples={
                "a count": {
                    "query": {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]},
                    **EXAMPLE_DATES,
                }
            },
            responses=(openapi.Response(200, "the statement", ExplainResponse),),
            errors=tuple(error for error in QUERY_ERRORS if error is not NotAcceptable),
        ),
    ),
)
