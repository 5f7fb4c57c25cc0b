"""The operations that ask: standard, custom, export."""

from typing import Annotated

from msgspec import Meta

from query.custom.request import CustomRequest
from query.docs.components import (
    BatchResponse,
    CustomResponse,
    ExplainResponse,
    StandardResponse,
    TablesResponse,
    TypesResponse,
)
from query.export.request import EXPORT_TABLES
from query.formats import negotiation
from query.formats.output_formats import FILE_FORMATS, FORMATS
from query.request.time_parameters import PRESETS
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

WEBSITE = Parameter("website_id", "the website that is asked about; this or link_id")
LINK = Parameter("link_id", "the short link that is asked about")
TIME_ZONE = Parameter(
    "timezone", "IANA name whose days are meant; goes before the body's", example="Europe/Berlin"
)

FILE_TYPES = tuple(format_.media_type for format_ in FILE_FORMATS)
DATES = {"startDate": "2026-11-01", "endDate": "2026-11-30"}
BATCH_BODY = Annotated[list[StandardRequestBody], Meta(min_length=1, max_length=MAX_REQUESTS)]

COUNT = {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]}


def _format(names: list[str], default: str) -> Parameter:
    meaning = "how rows are written; goes before Accept. Other than json: one query type at a time"
    return Parameter("format", meaning, {"type": "string", "enum": names, "default": default})


FORMAT = _format([format_.name for format_ in FORMATS], "json")

FORMULAS = Parameter(
    "formulas",
    "in CSV: `text` puts an apostrophe before texts that a spreadsheet would take for a formula; "
    "`keep` leaves them as they are, for programs",
    {"type": "string", "enum": list(negotiation.FORMULAS), "default": negotiation.FORMULAS[0]},
)

QUERY_OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/query",
        operation_id="ask",
        tag="Questions",
        summary="Ask named questions about a website or a link",
        description="Up to ten in one request count as one, each ten more as one more. Each has an "
        f"outcome of its own. All of an HTTP request share one deadline and {MAX_ROWS:,} rows; "
        "what does not fit into the answer any more fails alone with RESULT_TOO_LARGE.",
        parameters=(WEBSITE, LINK, TIME_ZONE, FORMAT, FORMULAS),
        body=StandardRequestBody | BATCH_BODY,
        examples={
            "three questions": {"parameters": ["summary", "top_pages", "traffic"], **DATES},
            "a series by the hour": {
                "parameters": ["events_by_date"],
                "startDate": "2026-11-20",
                "endDate": "2026-11-20",
                "granularity": "hourly",
                "timezone": "Europe/Berlin",
            },
            "of one country": {
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
        operation_id="askFreely",
        tag="Questions",
        summary="Ask one free-form question",
        description="Values are computed from the rows of one table, by group. "
        "`clicks` is asked with link_id, or with website_id for all links of its organization.",
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
        operation_id="explain",
        tag="Questions",
        summary="Show what a free-form question would run and read, without running it",
        parameters=(WEBSITE, LINK, TIME_ZONE),
        body=CustomRequest,
        examples={"a count": {"query": COUNT, **DATES}},
        responses=(Response(200, "the statement", ExplainResponse),),
        errors=tuple(failure for failure in ERRORS if failure is not NotAcceptable),
    ),
    Operation(
        method="GET",
        path="/v1/query/types",
        operation_id="types",
        tag="Questions",
        summary="List the named questions",
        parameters=(
            Parameter("include_meta", "with columns, units, filters, limits", {"type": "boolean"}),
        ),
        responses=(Response(200, "their names", TypesResponse),),
        errors=(Malformed, RateLimitExceeded),
        security=({},),
    ),
    Operation(
        method="GET",
        path="/v1/query/tables",
        operation_id="tables",
        tag="Questions",
        summary="List what free-form questions may name",
        responses=(Response(200, "tables, columns, aggregates, operators", TablesResponse),),
        errors=(RateLimitExceeded,),
        security=({},),
    ),
    Operation(
        method="GET",
        path="/v1/export/{table}",
        operation_id="export",
        tag="Questions",
        summary="Take the stored rows of a table, of any number",
        description="Rows come in the order of time. A body that breaks off is not whole.",
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
            Parameter("timezone", "IANA name whose days are meant", example="Europe/Berlin"),
            Parameter("columns", "comma-separated; all when absent", example="ts,name"),
            Parameter(
                "filters",
                "a JSON array of filters, as in questions",
                example='[{"field":"country","operator":"eq","value":"DE"}]',
            ),
            Parameter("include_bots", "rows of programs too", {"type": "boolean"}),
            Parameter(
                "asOf",
                "the version of the table, as 'meta.versions' of an answer tells it",
                {"type": "integer", "minimum": -1},
            ),
            _format([format_.name for format_ in FILE_FORMATS], "ndjson"),
            FORMULAS,
        ),
        responses=(Response(200, "a file", None, FILE_TYPES),),
        errors=ERRORS,
    ),
)
