"""POST /v1/query/compile: the SQL of queries, and what they would read; it runs none of them.

A body with `parameters` has standard queries, one with `metrics` a metrics query, else it is a
custom query.
"""

from collections.abc import Sequence

from msgspec import UNSET, Raw, Struct, UnsetType, structs
from starlette.requests import Request
from starlette.responses import Response

from query.custom.plan import parse_request as parse_custom
from query.custom.request import CustomRequest
from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.endpoints.standard import parse_counted
from query.metrics.plan import plan_of
from query.metrics.request import MetricsRequest
from query.metrics.request import parse_request as parse_metrics
from query.request.body import decode_json, read_bytes
from query.request.query_string import PREPARED_PARAMETER, uses_prepared
from query.request.subject import SUBJECT_PARAMETERS
from query.request.time_parameters import EXAMPLE_DATES, TIME_ZONE_PARAMETER
from query.response.compiled_bodies import CompiledQueries, CompiledQuery, ExplainResponse
from query.response.json_response import json_pieces
from query.response.large_response import LargeResponse
from query.run.explain import Explainer, Explanation
from query.run.groups import GroupedPlan
from query.run.journey import Caller, authorize, run_plans
from query.standard.plan import StandardPlan
from query.standard.request import StandardRequestBody
from schemas.errors import ApiError, NotAcceptable
from schemas.http import openapi
from schemas.plans import Group


class _Members(Struct):
    """The members that bodies of standard and of metrics queries have."""

    parameters: Raw | UnsetType = UNSET
    metrics: Raw | UnsetType = UNSET


async def explain(dependencies: QueryDependencies, request: Request) -> Response:
    """Explain standard queries, a metrics query or a custom query without running them."""
    caller = await authorize(
        dependencies, request, ENDPOINTS[0].operation, Group.CUSTOM, files=False
    )
    body = await read_bytes(request)
    plans: Sequence[StandardPlan | GroupedPlan]
    if (members := _members(body)).parameters is not UNSET:
        parsed = await parse_counted(dependencies, request, caller, body, Group.CUSTOM)
        plans = parsed.plans
    else:
        is_metrics = members.metrics is not UNSET
        plans = [_grouped(dependencies, request, caller, body, is_metrics=is_metrics)]
    async with dependencies.budget(request, caller.subject.tenant) as budget:
        run = await run_plans(dependencies, budget, plans, Explainer().explain)
        if isinstance(plans[0], GroupedPlan):
            response: Struct = ExplainResponse(success=True, **structs.asdict(run.only))
        else:
            entries = [
                _entry(plan.query.label, o) for plan, o in zip(plans, run.outcomes, strict=True)
            ]
            failed = sum(not entry.success for entry in entries)
            response = CompiledQueries(success=True, failed=failed, data=entries)
        return LargeResponse(json_pieces(response), budget, media_type="application/json")


def _members(body: bytes) -> _Members:
    """What the body has; whatever else is wrong with it is found later."""
    try:
        return decode_json(body, _Members)
    except ApiError:
        return _Members()


def _grouped(
    dependencies: QueryDependencies,
    request: Request,
    caller: Caller,
    body: bytes,
    *,
    is_metrics: bool,
) -> GroupedPlan:
    zone, now_ms = request.query_params.get("timezone"), dependencies.clock()
    prepared = uses_prepared(request)
    if is_metrics:
        metrics = decode_json(body, MetricsRequest)
        return plan_of(parse_metrics(metrics, caller.subject, zone, now_ms, prepared))
    custom = decode_json(body, CustomRequest)
    return parse_custom(custom, caller.subject, caller.key, zone, now_ms, prepared)


def _entry(label: str, outcome: Explanation | ApiError) -> CompiledQuery:
    if isinstance(outcome, ApiError):
        return CompiledQuery(label, False, error=outcome.message, code=outcome.code)
    return CompiledQuery(label, True, **structs.asdict(outcome))


ENDPOINTS = (
    QueryEndpoint(
        explain,
        openapi.Operation(
            method="POST",
            path="/v1/query/compile",
            operation_id="explainQuery",
            tag="Queries",
            summary="Show the SQL of queries and the rows they would read, without running it",
            description="Takes the body of `POST /v1/query` (one request), of `POST "
            "/v1/query/metrics` or of `POST /v1/query/custom`. It also says whether prepared "
            "results answer it, or why not.",
            parameters=(*SUBJECT_PARAMETERS, TIME_ZONE_PARAMETER, PREPARED_PARAMETER),
            body=(CustomRequest, StandardRequestBody, MetricsRequest),
            examples={
                "a count": {
                    "query": {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]},
                    **EXAMPLE_DATES,
                },
                "standard queries": {"parameters": ["summary", "top_pages"], **EXAMPLE_DATES},
                "visits by channel": {
                    "metrics": ["visits"],
                    "dimensions": ["visit.channel"],
                    **EXAMPLE_DATES,
                },
            },
            responses=(
                openapi.Response(200, "the statements", (ExplainResponse, CompiledQueries)),
            ),
            errors=tuple(error for error in QUERY_ERRORS if error is not NotAcceptable),
        ),
    ),
)
