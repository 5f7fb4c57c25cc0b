"""GET /v1/query/tables: tables, columns, aggregates and operators of custom queries."""

from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from query.custom.scope import TABLES_OF_LINKS
from query.custom.tables import CUSTOM_TABLES, CustomColumn, CustomTable
from query.custom.validation import TIME_GROUPS
from query.dependencies import QueryDependencies, QueryEndpoint
from query.request.operators import OPERATORS
from query.request.property_path import PREFIX, PROPERTIES_COLUMN
from query.request.query_string import check_query_string
from query.request.subject import SubjectKind
from query.response.bodies import TablesResponse
from query.response.catalogue_response import NOT_MODIFIED, Catalogue, encode_catalogue
from query.sql.aggregates import AGGREGATES
from schemas.errors import RateLimitExceeded
from schemas.http import openapi
from schemas.tables import ColumnType


async def list_tables(_dependencies: QueryDependencies, request: Request) -> Response:
    """List the tables; no key is needed, as nothing in it belongs to a tenant."""
    check_query_string(request, ENDPOINTS[0].operation)
    return _tables().response(request)


@cache
def _tables() -> Catalogue:
    response = TablesResponse(
        success=True,
        tables=[_table(table) for table in CUSTOM_TABLES.values()],
        aggregates=[{"name": a.name, "meaning": a.description} for a in AGGREGATES],
        operators=[{"name": o.name, "meaning": o.description, "takes": o.arity} for o in OPERATORS],
        time_buckets=list(TIME_GROUPS),
    )
    return encode_catalogue(response)


def _table(table: CustomTable) -> dict[str, Any]:
    has_links = table.table in TABLES_OF_LINKS
    subjects = [SubjectKind.WEBSITE, *([SubjectKind.LINK] if has_links else [])]
    return {
        "name": table.name,
        "meaning": table.description,
        "subjects": subjects,
        "properties": f"{PREFIX}<path>" if table.column(PROPERTIES_COLUMN) else None,
        "columns": [_column(column) for column in table.columns],
    }


def _column(column: CustomColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "meaning": column.description,
        "scope": column.scope,
        "aliasOf": column.alias_of,
        "groupBy": True,
        "operators": [
            o.name for o in OPERATORS if column.type is ColumnType.STRING or not o.text_only
        ],
        "aggregates": [a.name for a in AGGREGATES if column.type in a.types],
    }


ENDPOINTS = (
    QueryEndpoint(
        list_tables,
        openapi.Operation(
            method="GET",
            path="/v1/query/tables",
            operation_id="listTables",
            tag="Queries",
            summary="List tables, columns, aggregates and operators for custom queries",
            responses=(
                openapi.Response(200, "tables, columns, aggregates, operators", TablesResponse),
                NOT_MODIFIED,
            ),
            errors=(RateLimitExceeded,),
            security=({},),
        ),
    ),
)
