"""GET /v1/query/types: every standard query type, from its declaration."""

from collections.abc import Mapping
from functools import cache

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies, QueryEndpoint
from query.formats.result_table import declared_columns
from query.request.buckets import Granularity
from query.request.presets import PRESETS
from query.request.query_string import check_query_string
from query.response.bodies import TypesResponse
from query.response.catalogue_response import NOT_MODIFIED, Catalogue, encode_catalogue
from query.scope.visits import visit_fields
from query.standard.declaration.fields import field_specs
from query.standard.declaration.query_type import QueryType
from query.standard.query_types import QUERY_TYPES
from query.standard.scope import filterable_fields
from schemas.errors import Malformed, RateLimitExceeded
from schemas.http import openapi

FLAGS = {"true": True, "1": True, "false": False, "0": False}


async def list_types(_dependencies: QueryDependencies, request: Request) -> Response:
    """The query types; public, because the response holds no data of a tenant."""
    check_query_string(request, ENDPOINTS[0].operation)
    include_meta = request.query_params.get("include_meta", "false")
    if include_meta not in FLAGS:
        raise Malformed(f"'include_meta' is '{include_meta[:40]}'; it must be true or false")
    return _types(FLAGS[include_meta]).response(request)


@cache
def _types(include_meta: bool) -> Catalogue:
    configs = {n: dict(type_config(t)) for n, t in QUERY_TYPES.items()} if include_meta else UNSET
    return encode_catalogue(
        TypesResponse(success=True, types=list(QUERY_TYPES), presets=list(PRESETS), configs=configs)
    )


def type_config(query_type: QueryType) -> Mapping[str, object]:
    """The declaration of a query type as JSON."""
    specs = field_specs(query_type.row)
    options = query_type.options
    return {
        "name": query_type.name,
        "aliases": query_type.aliases,
        "description": query_type.description,
        "subject": query_type.subject,
        "columns": [
            {"name": column.name, "type": column.kind, "unit": spec.unit or None}
            for column, spec in zip(declared_columns(query_type.row), specs.values(), strict=True)
        ],
        "allowedFilters": list(filterable_fields(query_type.table)),
        "visitFilters": list(visit_fields(query_type.table)),
        "requiredFilters": query_type.required_filters,
        "defaultLimit": None if query_type.series else query_type.default_limit,
        "maxLimit": query_type.max_limit,
        "granularity": list(Granularity) if query_type.starts_with_time else [],
        "options": msgspec.json.schema(options) if options else None,
        "example": query_type.example,
    }


ENDPOINTS = (
    QueryEndpoint(
        list_types,
        openapi.Operation(
            method="GET",
            path="/v1/query/types",
            operation_id="listQueryTypes",
            tag="Queries",
            summary="List the query types",
            parameters=(
                openapi.Parameter(
                    "include_meta", "with columns, units, filters, limits", {"type": "boolean"}
                ),
            ),
            responses=(openapi.Response(200, "the query types", TypesResponse), NOT_MODIFIED),
            errors=(Malformed, RateLimitExceeded),
            security=({},),
        ),
    ),
)
