"""OpenAPI operations: queries and export."""

from typing import Annotated

from msgspec import Meta

from query.custom.request import CustomRequest
from query.export.request import EXPORT_TABLES
from query.formats import negotiation
from query.formats.output_formats import FILE_FORMATS, FORMATS
from query.request.time_parameters import PRESETS
from query.response.bodies import (
    BatchResponse,
    CustomResponse,
    ExplainResponse,
    StandardResponse,
    TablesResponse,
    TypesResponse,
)
from query.response.response_budget import MAX_ROWS
from query.standard.endpoint import MAX_REQUESTS
from query.standard.request import StandardRequestBody
from schemas.errors import (
    ApiError,
    DataDamaged,
    Forbidden,
    Malformed,
    NotAcceptable,
    PayloadTooLarge,
    QueryTimeout,
    QueryTooHeavy,
    RateLimitExceeded,
    RequestTimeout,
    ResultTooLarge,
    Unauthorized,
    Unavailable,
    VersionGone,
)
from schemas.http.openapi import Operation, Parameter, Response

ERRORS: tuple[type[ApiError], ...] = (
    Malformed,
    ResultTooLarge,
    Unauthorized,
    Forbidden,
    NotAcceptable,
    VersionGone,
    RequestTimeout,
    PayloadTooLarge,
    RateLimitExceeded,
    Unavailable,
    QueryTimeout,
    QueryTooHeavy,
    DataDamaged,
)

WEBSITE = Parameter("website_id", "the website to query; either this or link_id")
LINK = Parameter("link_id", "the short link to query")
TIME_ZONE = Parameter("timezone", "IANA time zone; overrides the body's", example="Europe/Berlin")

FILE_TYPES = tuple(format_.media_type for format_ in FILE_FORMATS)
DATES = {"startDate": "2026-11-01", "endDate": "2026-11-30"}
BATCH_BODY = Annotated[list[StandardRequestBody], Meta(min_length=1, max_length=MAX_REQUESTS)]

COUNT = {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]}


def _format(names: list[str], default: str) -> Parameter:
    meaning = "response format; overrides Accept. Formats other than json support a single query"
    return Parameter("format", meaning, {"type": "string", "enum": names, "default": default})


FORMAT = _format([format_.name for format_ in FORMATS], "json")

FORMULAS = Parameter(
    "formulas",
    "in CSV: `text` puts an apostrophe before values that a spreadsheet would run as formulas; "
    "`keep` leaves them unchanged",
    {"type": "string", "enum": list(negotiation.FORMULAS), "default": negotiation.FORMULAS[0]},
)

QUERY_OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/query",
        operation_id="runQueries",
        tag="Queries",
        summary="Run one or more standard queries for a website or a link",
        description="Up to ten queries count as one request against the rate limit, every further "
        "ten as one more. Each query succeeds or fails on its own. All queries of an HTTP request "
        f"share one timeout and {MAX_ROWS:,} rows; a query that exceeds the limit fails with "
        "RESULT_TOO_LARGE.",
        parameters=(WEBSITE, LINK, TIME_ZONE, FORMAT, FORMULAS),
        body=StandardRequestBody | BATCH_BODY,
        examples={
            "three queries": {"parameters": ["summary", "top_pages", "traffic"], **DATES},
            "an hourly series": {
                "parameters": ["events_by_date"],
                "startDate": "2026-11-20",
                "endDate": "2026-11-20",
                "granularity": "hourly",
                "timezone": "Europe/Berlin",
            },
            "filtered by country": {
                "parameters": [{"name": "top_pages", "id": "pages in Germany"}],
                "preset": "last_7d",
                "filters": [{"field": "country", "operator": "eq", "value": "DE"}],
                "limit": 5,
            },
        },
        responses=(Response(200, "the rows", (StandardResponse, BatchResponse), FILE_TYPES),),
        errors=ERRORS,
    ),
    Operation(
        method="POST",
        path="/v1/query/custom",
        operation_id="runCustomQuery",
        tag="Queries",
        summary="Run a custom query",
        description="Aggregates over one table, optionally grouped. "
        "`clicks` takes link_id, or website_id for all links of its organization.",
        parameters=(WEBSITE, LINK, TIME_ZONE, FORMAT, FORMULAS),
        body=CustomRequest,
        examples={
            "visitors by country": {
                "query": {
                    "table": "events",
                    "selects": [{"field": "anonymous_id", "aggregate": "uniq", "alias": "n"}],
                    "groupBy": ["country"],
                },
                **DATES,
            },
            "errors that are not warnings": {
                "query": {
                    "table": "errors",
                    "selects": [{"field": "*", "aggregate": "count", "alias": "errors"}],
                    "filters": [{"field": "level", "operator": "ne", "value": "warning"}],
                    "groupBy": ["message"],
                },
                "limit": 10,
                **DATES,
            },
        },
        responses=(Response(200, "the rows", CustomResponse, FILE_TYPES),),
        errors=ERRORS,
    ),
    Operation(
        method="POST",
        path="/v1/query/compile",
        operation_id="explainCustomQuery",
        tag="Queries",
        summary="Show the SQL of a custom query and the rows it would read, without running it",
        parameters=(WEBSITE, LINK, TIME_ZONE),
        body=CustomRequest,
        examples={"a count": {"query": COUNT, **DATES}},
        responses=(Response(200, "the statement", ExplainResponse),),
        errors=tuple(error for error in ERRORS if error is not NotAcceptable),
    ),
    Operation(
        method="GET",
        path="/v1/query/types",
        operation_id="listQueryTypes",
        tag="Queries",
        summary="List the query types",
        parameters=(
            Parameter("include_meta", "with columns, units, filters, limits", {"type": "boolean"}),
        ),
        responses=(Response(200, "the query types", TypesResponse),),
        errors=(Malformed, RateLimitExceeded),
        security=({},),
    ),
    Operation(
        method="GET",
        path="/v1/query/tables",
        operation_id="listTables",
        tag="Queries",
        summary="List tables, columns, aggregates and operators for custom queries",
        responses=(Response(200, "tables, columns, aggregates, operators", TablesResponse),),
        errors=(RateLimitExceeded,),
        security=({},),
    ),
    Operation(
        method="GET",
        path="/v1/export/{table}",
        operation_id="exportRows",
        tag="Queries",
        summary="Export the stored rows of a table",
        description="Rows are ordered by time. "
        "If the connection closes early, the export is incomplete.",
        parameters=(
            Parameter(
                "table",
                "the table",
                {"type": "string", "enum": list(EXPORT_TABLES)},
                required=True,
                location="path",
                example="events",
            ),
            WEBSITE,
            LINK,
            Parameter("startDate", "first day, or instant", example="2026-11-01"),
            Parameter("endDate", "last day, inclusive", example="2026-11-30"),
            Parameter("preset", f"instead of dates: {', '.join(PRESETS)}"),
            Parameter("timezone", "IANA time zone of the dates", example="Europe/Berlin"),
            Parameter("columns", "comma-separated; all when absent", example="ts,name"),
            Parameter(
                "filters",
                "a JSON array of filters, as in queries",
                example='[{"field":"country","operator":"eq","value":"DE"}]',
            ),
            Parameter("include_bots", "include bot traffic", {"type": "boolean"}),
            Parameter(
                "asOf",
                "table version, from 'meta.versions' of an earlier response",
                {"type": "integer", "minimum": -1},
            ),
            _format([format_.name for format_ in FILE_FORMATS], "ndjson"),
            FORMULAS,
        ),
        responses=(Response(200, "a file", None, FILE_TYPES),),
        errors=ERRORS,
    ),
)
