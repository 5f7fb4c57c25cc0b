"""The operations that ask: standard, custom, export."""

from typing import Annotated

from msgspec import Meta

from query.custom.request import CustomBody
from query.docs.components import (
    Batch,
    CustomAnswer,
    Explained,
    StandardAnswer,
    TablesAnswer,
    TypesAnswer,
)
from query.export.request import EXPORTED
from query.formats import negotiation
from query.formats.output_formats import FILES, FORMATS
from query.request.time_parameters import PRESETS
from query.response.response_budget import MOST_ROWS
from query.standard.endpoint import MOST_REQUESTS
from query.standard.request import StandardBody
from schemas.errors import (
    DataDamaged,
    Failure,
    Forbidden,
    LimitExceeded,
    Malformed,
    NotAcceptable,
    Overdue,
    ResultTooLarge,
    TooHeavy,
    TooLarge,
    TooSlow,
    Unauthorized,
    Unavailable,
    VersionGone,
)
from schemas.http.openapi import Answer, Operation, Parameter

REFUSED: tuple[type[Failure], ...] = (
    Malformed,
    ResultTooLarge,
    Unauthorized,
    Forbidden,
    NotAcceptable,
    VersionGone,
    TooSlow,
    TooLarge,
    LimitExceeded,
    Unavailable,
    Overdue,
    TooHeavy,
    DataDamaged,
)

WEBSITE = Parameter("website_id", "the website that is asked about; this or link_id")
LINK = Parameter("link_id", "the short link that is asked about")
ZONE = Parameter(
    "timezone", "IANA name whose days are meant; goes before the body's", example="Europe/Berlin"
)

FILE_TYPES = tuple(format_.media_type for format_ in FILES)
DATES = {"startDate": "2026-11-01", "endDate": "2026-11-30"}
SEVERAL = Annotated[list[StandardBody], Meta(min_length=1, max_length=MOST_REQUESTS)]

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

QUESTIONS = (
    Operation(
        method="POST",
        path="/v1/query",
        name="ask",
        group="Questions",
        meaning="Ask named questions about a website or a link",
        more="Up to ten in one request count as one, each ten more as one more. Each has an "
        f"outcome of its own. All of an HTTP request share one deadline and {MOST_ROWS:,} rows; "
        "what does not fit into the answer any more fails alone with RESULT_TOO_LARGE.",
        parameters=(WEBSITE, LINK, ZONE, FORMAT, FORMULAS),
        body=StandardBody | SEVERAL,
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
        answers=(Answer(200, "the rows", (StandardAnswer, Batch), FILE_TYPES),),
        failures=REFUSED,
    ),
    Operation(
        method="POST",
        path="/v1/query/custom",
        name="askFreely",
        group="Questions",
        meaning="Ask one free-form question",
        more="Values are computed from the rows of one table, by group. "
        "`clicks` is asked with link_id, or with website_id for all links of its organization.",
        parameters=(WEBSITE, LINK, ZONE, FORMAT, FORMULAS),
        body=CustomBody,
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
        answers=(Answer(200, "the rows", CustomAnswer, FILE_TYPES),),
        failures=REFUSED,
    ),
    Operation(
        method="POST",
        path="/v1/query/compile",
        name="explain",
        group="Questions",
        meaning="Show what a free-form question would run and read, without running it",
        parameters=(WEBSITE, LINK, ZONE),
        body=CustomBody,
        examples={"a count": {"query": COUNT, **DATES}},
        answers=(Answer(200, "the statement", Explained),),
        failures=tuple(failure for failure in REFUSED if failure is not NotAcceptable),
    ),
    Operation(
        method="GET",
        path="/v1/query/types",
        name="types",
        group="Questions",
        meaning="List the named questions",
        parameters=(
            Parameter("include_meta", "with columns, units, filters, limits", {"type": "boolean"}),
        ),
        answers=(Answer(200, "their names", TypesAnswer),),
        failures=(Malformed, LimitExceeded),
        keys=({},),
    ),
    Operation(
        method="GET",
        path="/v1/query/tables",
        name="tables",
        group="Questions",
        meaning="List what free-form questions may name",
        answers=(Answer(200, "tables, columns, aggregates, operators", TablesAnswer),),
        failures=(LimitExceeded,),
        keys=({},),
    ),
    Operation(
        method="GET",
        path="/v1/export/{table}",
        name="export",
        group="Questions",
        meaning="Take the stored rows of a table, of any number",
        more="Rows come in the order of time. A body that breaks off is not whole.",
        parameters=(
            Parameter(
                "table",
                "the table",
                {"type": "string", "enum": list(EXPORTED)},
                required=True,
                within="path",
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
            _format([format_.name for format_ in FILES], "ndjson"),
            FORMULAS,
        ),
        answers=(Answer(200, "a file", None, FILE_TYPES),),
        failures=REFUSED,
    ),
)
