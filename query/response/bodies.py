"""Response bodies: endpoints return these structs, and OpenAPI documents them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field

JsonObject = Mapping[str, Any]
Objects = Annotated[Sequence[Any], Meta(extra_json_schema={"items": {"type": "object"}})]
"""A list of JSON objects, possibly encoded already."""

TableVersions = Annotated[
    dict[str, int], Meta(description="version of each table, for `asOf`; -1: nothing stored yet")
]
Watermark = Annotated[
    str | None, Meta(description="everything acknowledged before it is included; ISO 8601")
]
StaleReason = Annotated[
    str, Meta(description="why `watermark` and `lagSeconds` are old or null; only then")
]

KeptSince = Annotated[
    str,
    Meta(
        description="first day of which all rows are kept (YYYY-MM-DD, in `timezone`), where the "
        "time range begins before it: older rows are deleted by age"
    ),
]


class ErrorResponse(Struct):
    """An error: a message and a machine-readable code."""

    success: Literal[False]
    error: str
    code: str


class RateLimitResponse(Struct, rename="camel"):
    """The rate limit of this window is exceeded."""

    success: Literal[False]
    error: str
    code: Literal["RATE_LIMIT_EXCEEDED"]
    limit: int
    remaining: Annotated[int, Meta(ge=0, le=0)]
    reset: Annotated[str, Meta(description="ISO 8601")]
    retry_after: Annotated[int, Meta(description="seconds", ge=1)]


class SeriesAnnotation(Struct):
    """A note on an instant, a day, or a range with both ends inclusive."""

    id: str
    start: str
    end: str | None
    text: str
    link: str | None


Annotations = Annotated[
    Sequence[SeriesAnnotation],
    Meta(description="of the website within the time range; only of results by time"),
]


EngineName = Annotated[
    str, Meta(description="`duckdb` or `trino`; only where a distributed engine is configured")
]

Prepared = Annotated[
    bool,
    Meta(
        description="`true` where prepared results were used rather than the stored rows alone; "
        "the rows of the result are the same"
    ),
]


class ResultWarning(Struct):
    """What the numbers of a result leave out or cannot show; `count` is how many are concerned."""

    code: str
    message: str
    count: int


Warnings = Annotated[
    Sequence[ResultWarning],
    Meta(description="what the numbers leave out or cannot tell; only where there is something"),
]


class QueryMeta(Struct, rename="camel"):
    """Rows of all pages; for time series also the label of the bucket that can still grow."""

    total_rows: int
    partial_bucket: str | UnsetType | None = UNSET
    annotations: Annotations | UnsetType = UNSET
    engine: EngineName | UnsetType = UNSET
    prepared: Prepared | UnsetType = UNSET
    warnings: Warnings | UnsetType = UNSET


class QueryComparison(Struct):
    """The compared time range, with one row for each row of `data`."""

    start: str | None
    end: str | None
    rows: Objects


class QueryOutcome(Struct):
    """The outcome of one query; `error` and `code` only when it failed."""

    parameter: str
    success: bool
    data: Annotated[
        Objects, Meta(description="rows; RowsByQueryType has the fields of each query type")
    ]
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    meta: QueryMeta | UnsetType = UNSET
    comparison: QueryComparison | UnsetType = UNSET


class StandardMeta(Struct):
    """What was requested, and how fresh the result is."""

    parameters: list[str]
    total_parameters: int
    page: int
    limit: int
    filters_applied: int
    timezone: str
    watermark: Watermark
    lag_seconds: float | None = field(name="lagSeconds")
    versions: TableVersions
    stale_reason: StaleReason | UnsetType = field(name="staleReason", default=UNSET)
    kept_since: KeptSince | UnsetType = field(name="keptSince", default=UNSET)


class StandardResponse(Struct, rename="camel"):
    """The response to one request, in the order of its parameters."""

    success: Literal[True]
    query_id: str
    failed: Annotated[int, Meta(description="queries of the request that failed", ge=0)]
    data: list[QueryOutcome]
    meta: StandardMeta


class StreamEnd(Struct, rename="camel"):
    """The last line of a streamed response: a StandardResponse without its data."""

    success: Literal[True]
    query_id: str
    failed: int
    meta: StandardMeta


class BatchResponse(Struct):
    """The responses to an array of requests, in order; each is a response or an error."""

    success: Literal[True]
    batch: Literal[True]
    results: Objects


class CustomMeta(Struct, rename="camel"):
    """Rows on this page, milliseconds, what was requested, and how fresh the result is."""

    row_count: int
    execution_time: int
    total_rows: int
    page: int
    limit: int
    timezone: str
    watermark: Watermark
    lag_seconds: float | None
    versions: TableVersions
    stale_reason: StaleReason | UnsetType = UNSET
    kept_since: KeptSince | UnsetType = UNSET
    partial_bucket: str | UnsetType | None = UNSET
    annotations: Annotations | UnsetType = UNSET
    engine: EngineName | UnsetType = UNSET
    prepared: Prepared | UnsetType = UNSET
    warnings: Warnings | UnsetType = UNSET


class CustomResponse(Struct):
    """Rows with the group-by fields and the aliases as keys."""

    success: Literal[True]
    data: Objects
    meta: CustomMeta
    comparison: QueryComparison | UnsetType = UNSET


class MetricsMeta(Struct, rename="camel"):
    """Rows on this page and on all pages, what was requested, and how fresh the result is."""

    row_count: int
    total_rows: int
    page: int
    limit: int
    timezone: str
    watermark: Watermark
    lag_seconds: float | None
    versions: TableVersions
    stale_reason: StaleReason | UnsetType = UNSET
    kept_since: KeptSince | UnsetType = UNSET
    partial_bucket: str | UnsetType | None = UNSET
    definitions: dict[str, str] | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    engine: EngineName | UnsetType = UNSET
    prepared: Prepared | UnsetType = UNSET
    warnings: Warnings | UnsetType = UNSET


class MetricsResponse(Struct):
    """Rows with the dimensions and the metrics as keys, as the request names them."""

    success: Literal[True]
    data: Objects
    meta: MetricsMeta
    comparison: QueryComparison | UnsetType = UNSET


class MetricsCatalogueResponse(Struct):
    """Metrics, dimensions and operators of metrics queries."""

    success: Literal[True]
    metrics: list[dict[str, Any]]
    dimensions: list[dict[str, Any]]
    operators: list[dict[str, Any]]


class PageMeta(Struct):
    """Page, limit and total of a list."""

    page: int
    limit: int
    total: int


class SuccessResponse(Struct):
    """Success."""

    success: Literal[True]


class TypesResponse(Struct):
    """The names of all query types; with `include_meta` also `configs`, by name."""

    success: Literal[True]
    types: list[str]
    presets: list[str]
    configs: dict[str, dict[str, Any]] | UnsetType = UNSET


class TablesResponse(Struct, rename="camel"):
    """Tables, columns, aggregates and operators of custom queries."""

    success: Literal[True]
    tables: list[dict[str, Any]]
    aggregates: list[dict[str, Any]]
    operators: list[dict[str, Any]]
    time_buckets: list[str]


def response_types(name: str, word: str, words: str, data: Any) -> tuple[Any, Any]:
    """The types of responses with one record and with a list, as OpenAPI names them."""
    success = ("success", Literal[True])
    one, page = [success, ("data", data)], [success, ("data", list[data]), ("meta", PageMeta)]
    return (
        defstruct(f"{name}Response", one, namespace={"__doc__": f"One {word}."}),
        defstruct(f"{name}ListResponse", page, namespace={"__doc__": f"One page of {words}."}),
    )
