"""The OpenAPI document of the query service."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct, defstruct
from msgspec.structs import replace

from query.custom.request import ALIAS
from query.custom.tables import CUSTOM_TABLES
from query.dependencies import QueryEndpoint
from query.request.buckets import GRANULARITIES
from query.request.operators import OPERATORS
from query.request.presets import PRESETS
from query.response.bodies import ErrorResponse, RateLimitResponse
from query.sign_in.session_cookie import SESSION_COOKIE
from query.sql.aggregates import AGGREGATES
from query.standard.query_types import FAMILIES
from schemas.http.docs.root_page import ROOT_OPERATION
from schemas.http.health import HEALTH_OPERATIONS as HEALTH
from schemas.http.openapi import SECURITY_SCHEMES, ApiDescription, Operation, schema_name

TYPES = tuple(query_type for family in FAMILIES for query_type in family)
USES = Counter(query_type.row for query_type in TYPES)

ROW_SCHEMAS = defstruct(
    "RowsByQueryType",
    [
        (
            query_type.name,
            Annotated[
                list.__class_getitem__(query_type.row), Meta(description=query_type.description)
            ],
        )
        for query_type in TYPES
    ],
    namespace={"__doc__": "Every query type with its rows: what it returns, and the fields."},
)


def _row_name(row: type[Struct], query_type: str) -> str:
    """The name of a row: of its query type, or of the row itself when several types share it."""
    name = schema_name(query_type) if USES[row] == 1 else row.__name__
    return f"{name.removesuffix('Row')}Row"


ROW_NAMES: dict[type, str] = {
    query_type.row: _row_name(query_type.row, query_type.name) for query_type in TYPES
}
"""Name of each row type in the document."""


def describe_api(endpoints: Sequence[QueryEndpoint]) -> ApiDescription:
    """The OpenAPI description of the service with these endpoints."""
    return ApiDescription(
        title="Tidemark Query API",
        description="Query analytics of websites and short links. Every response carries the "
        "remaining rate limit; every error names what was wrong.",
        operations=(*(_operation(each) for each in endpoints), *HEALTH, ROOT_OPERATION),
        security_schemes={"session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE}},
        error_body=ErrorResponse,
        rate_limit_body=RateLimitResponse,
        extra_types=(ROW_SCHEMAS,),
        schema_names=ROW_NAMES,
        property_overrides={
            ("Filter", "operator"): {"examples": [operator.name for operator in OPERATORS]},
            ("Filter", "field"): {"description": "a column of the table, or properties.<key>"},
            ("Filter", "has_done"): {"description": "keeps all rows of the visitors who did this"},
            ("Filter", "has_not_done"): {
                "description": "keeps all rows of the visitors who did not do this"
            },
            ("Behavior", "within"): {
                "description": "the time range of the query, or all that is stored"
            },
            ("Behavior", "times"): {"description": "how often at least"},
            ("SelectTerm", "aggregate"): {"enum": [aggregate.name for aggregate in AGGREGATES]},
            ("CustomQueryBody", "table"): {"enum": list(CUSTOM_TABLES)},
            ("SelectTerm", "alias"): {"pattern": f"^{ALIAS.pattern}$"},
            ("StandardRequestBody", "granularity"): {"enum": list(GRANULARITIES)},
            ("StandardRequestBody", "preset"): {"examples": list(PRESETS)},
            ("CustomRequest", "preset"): {"examples": list(PRESETS)},
            ("StandardRequestBody", "parameters"): {
                "description": "names of query types, or objects {name, start_date, end_date, "
                "preset, granularity, filters, limit, page, orderBy, compare, id} with the options "
                "of the type; the types are "
                + ", ".join(t.name for family in FAMILIES for t in family)
            },
        },
    )


def _operation(endpoint: QueryEndpoint) -> Operation:
    """What needs an API key may have the cookie of a sign-in instead."""
    operation = endpoint.operation
    if not any(scheme in SECURITY_SCHEMES for each in operation.security for scheme in each):
        return operation
    return replace(operation, security=(*operation.security, {"session": ()}))
