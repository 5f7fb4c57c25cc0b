"""The shapes of answers as the document shows them; the endpoints make them from plain values."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType


class ErrorResponse(Struct):
    """A refusal: what was wrong, in words, and a code for programs."""

    success: Literal[False]
    error: str
    code: str


class RateLimitResponse(Struct, rename="camel"):
    """The allowance of this window is used up."""

    success: Literal[False]
    error: str
    code: Literal["RATE_LIMIT_EXCEEDED"]
    limit: int
    remaining: Annotated[int, Meta(ge=0, le=0)]
    reset: Annotated[str, Meta(description="ISO 8601")]
    retry_after: Annotated[int, Meta(description="seconds", ge=1)]


class QueryOutcome(Struct):
    """The outcome of one question; `error` and `code` only when it failed."""

    parameter: str
    success: bool
    data: Annotated[list[dict[str, Any]], Meta(description="rows; see Rows for each type's")]


class StandardMeta(Struct):
    """What was asked, and how fresh the answer is."""

    parameters: list[str]
    total_parameters: int
    page: int
    limit: int
    filters_applied: int
    timezone: str


class StandardResponse(Struct, rename="camel"):
    """The answer to one request, in the order of its parameters."""

    success: Literal[True]
    query_id: str
    data: list[QueryOutcome]
    meta: StandardMeta


class BatchResponse(Struct):
    """The answers to an array of requests, in their order; each is an answer or a refusal."""

    success: Literal[True]
    batch: Literal[True]
    results: list[dict[str, Any]]


class CustomMeta(Struct, rename="camel"):
    """How many rows, made in how many milliseconds."""

    row_count: int
    execution_time: float


class CustomResponse(Struct):
    """Rows whose keys are the group-by fields and the aliases."""

    success: Literal[True]
    data: list[dict[str, Any]]
    meta: CustomMeta


class LinkResource(Struct, rename="camel"):
    """A short link."""

    id: str
    organization_id: str
    name: str
    target_url: str
    slug: str
    created_at: str
    updated_at: str
    external_id: str | None
    expires_at: str | None
    expired_redirect_url: str | None
    ios_url: str | None
    android_url: str | None
    og_title: str | None
    og_description: str | None
    og_image_url: str | None
    og_video_url: str | None


class LinkResponse(Struct):
    """One link."""

    success: Literal[True]
    data: LinkResource


class PageMeta(Struct):
    """Which page of how many links."""

    page: int
    limit: int
    total: int


class LinkListResponse(Struct):
    """One page of links."""

    success: Literal[True]
    data: list[LinkResource]
    meta: PageMeta


class SuccessResponse(Struct):
    """It is done."""

    success: Literal[True]


class TypesResponse(Struct):
    """The names of all query types; with `include_meta` also `configs`, by name."""

    success: Literal[True]
    types: list[str]
    presets: list[str]
    configs: dict[str, dict[str, Any]] | UnsetType = UNSET


class TablesResponse(Struct, rename="camel"):
    """What custom queries may name."""

    success: Literal[True]
    tables: list[dict[str, Any]]
    aggregates: list[dict[str, Any]]
    operators: list[dict[str, Any]]
    time_buckets: list[str]


class TableScan(Struct):
    """A table, its version, and how many rows of the subject lie in the span."""

    name: str
    version: int
    rows: int


class ExplainResponse(Struct):
    """What a custom query would run and read."""

    success: Literal[True]
    sql: str
    values: dict[str, Any]
    tables: list[TableScan]
