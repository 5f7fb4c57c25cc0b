"""GET /v1/query/metrics: the metrics, dimensions and operators of metrics queries."""

from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies, QueryEndpoint
from query.metrics.dimensions import DATE_PARTS, INSTANT_BUCKETS, TIMES
from query.metrics.fields import FIELDS, TABLES_WITH_PROPERTIES
from query.metrics.goal_filters import GOAL
from query.metrics.metrics import METRICS
from query.metrics.money import CURRENCY, CURRENCY_MEANING, MONEY_METRICS
from query.metrics.query import MetricsQuery
from query.metrics.segments import SEGMENT, SEGMENT_MEANING
from query.metrics.terms import AGGREGATES, CONVERSIONS
from query.request.operators import OPERATORS
from query.request.property_path import PREFIX
from query.request.query_string import check_query_string
from query.response.bodies import MetricsCatalogueResponse
from query.response.catalogue_response import NOT_MODIFIED, Catalogue, encode_catalogue
from schemas.errors import RateLimitExceeded
from schemas.http import openapi

PROPERTY = f"{PREFIX}<path>"
PROPERTY_MEANING = "a property of the event or error, by its path"


SAVED = (
    {
        "name": GOAL,
        "meaning": "a saved goal that the row completes, by id or name; only in filters",
        "of": "row",
        "filter": True,
        "group": False,
    },
    {
        "name": CURRENCY,
        "meaning": CURRENCY_MEANING,
        "of": "row",
        "filter": False,
    },
)
"""What depends on saved records of the website."""


def definitions_of(query: MetricsQuery) -> dict[str, str]:
    """What each dimension and metric of a query means, by its name in the result."""
    return {d.name: _meaning(d.name) for d in query.dimensions} | {
        m.name: m.metric.description for m in query.metrics
    }


async def list_metrics(_dependencies: QueryDependencies, request: Request) -> Response:
    """List metrics and dimensions; no key is needed, as nothing in it belongs to a tenant."""
    check_query_string(request, ENDPOINTS[0].operation)
    return _metrics().response(request)


@cache
def _metrics() -> Catalogue:
    response = MetricsCatalogueResponse(
        success=True,
        metrics=[
            {
                "name": m.name,
                "meaning": m.description,
                "of": m.subject,
                "unit": m.unit,
                "tables": [table.name for table in m.tables],
            }
            for m in METRICS
        ]
        + [
            {"name": name, "meaning": meaning, "of": "rows", "needs": "goals"}
            for name, meaning in CONVERSIONS.items()
        ]
        + [
            {"name": name, "meaning": meaning, "of": "rows", "needs": "money property"}
            for name, meaning in MONEY_METRICS.items()
        ]
        + [
            {"name": a.name, "meaning": a.description, "of": "rows", "needs": "property"}
            for a in AGGREGATES.values()
        ],
        dimensions=_dimensions(),
        operators=[{"name": o.name, "meaning": o.description, "takes": o.arity} for o in OPERATORS],
    )
    return encode_catalogue(response)


def _dimensions() -> list[dict[str, Any]]:
    fields = [
        {
            "name": f.name,
            "meaning": f.description,
            "of": "visit" if f.of_visit else "row",
            "type": f.type,
            "filter": True,
            "tables": sorted(f.tables),
        }
        for f in FIELDS.values()
    ]
    fields += [
        {"name": name, "meaning": _meaning(name), "of": "row", "filter": False}
        for name in INSTANT_BUCKETS
    ]
    property_ = {
        "name": PROPERTY,
        "meaning": PROPERTY_MEANING,
        "of": "row",
        "filter": True,
        "tables": sorted(TABLES_WITH_PROPERTIES),
    }
    times = [
        {"name": t.name, "meaning": t.description, "of": "time", "filter": t.name in DATE_PARTS}
        for t in TIMES.values()
    ]
    return [*fields, property_, *SAVED, *times]


def _meaning(name: str) -> str:
    if name in FIELDS:
        return FIELDS[name].description
    if name == SEGMENT:
        return SEGMENT_MEANING
    if name == CURRENCY:
        return CURRENCY_MEANING
    if name in INSTANT_BUCKETS:
        field, _ = INSTANT_BUCKETS[name]
        return f"{name.rpartition(':')[2]} of the {FIELDS[field].description}"
    return TIMES[name].description if name in TIMES else PROPERTY_MEANING


ENDPOINTS = (
    QueryEndpoint(
        list_metrics,
        openapi.Operation(
            method="GET",
            path="/v1/query/metrics",
            operation_id="listMetrics",
            tag="Queries",
            summary="List metrics and dimensions of metrics queries",
            responses=(
                openapi.Response(200, "metrics, dimensions, operators", MetricsCatalogueResponse),
                NOT_MODIFIED,
            ),
            errors=(RateLimitExceeded,),
            security=({},),
        ),
    ),
)
