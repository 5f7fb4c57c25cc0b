"""The body of a standard query, decoded and validated."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from query.engine.snapshots import AsOf
from query.request.body import convert
from query.request.buckets import GRANULARITIES
from query.request.comparison_range import CompareOptions, comparison_range
from query.request.filters import Filter
from query.request.order import OrderTerm
from query.request.time_parameters import parse_time_range
from query.request.time_range import Granularity, TimeRange, check_time_zone
from query.standard.execute import PageOptions
from schemas.errors import Malformed

MAX_DAYS = 3_660
MAX_PARAMETERS = 100
DEFAULT_LIMIT = 100

ShortText = Annotated[str, Meta(max_length=256)]


class ParameterOptions(Struct, frozen=True):
    """A parameter with a span or granularity of its own."""

    name: ShortText
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    granularity: str | None = None
    id: ShortText | None = None


class StandardRequestBody(Struct, frozen=True, rename="camel"):
    """What is sent."""

    parameters: Annotated[
        list[ShortText | dict[str, Any]], Meta(min_length=1, max_length=MAX_PARAMETERS)
    ]
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    granularity: str = "daily"
    limit: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    timezone: str | None = None
    filters: list[Filter] = []
    order_by: Annotated[list[OrderTerm], Meta(max_length=25)] = []
    sort_by: ShortText | None = None
    sort_order: Literal["asc", "desc"] = "desc"
    compare: CompareOptions | None = None
    as_of: AsOf = None
    include_bots: bool = field(name="include_bots", default=False)


class StandardQuery(Struct, frozen=True):
    """One question of a request."""

    label: str
    """`data[].parameter` of its answer."""
    name: str
    time_range: TimeRange
    granularity: Granularity
    comparison_range: TimeRange | None = None
    """What it is compared with."""
    options: Mapping[str, Any] = {}
    """What the parameter says beside that, for its type."""
    path: str = "parameters"


class StandardRequest(Struct, frozen=True):
    """A whole request."""

    queries: tuple[StandardQuery, ...]
    page: PageOptions
    time_zone: str
    filters: list[Filter]
    include_bots: bool
    as_of: AsOf = None


def parse_request(
    body: StandardRequestBody, zone: str | None, now_ms: int, home: str = "UTC"
) -> StandardRequest:
    """The questions of a body; the query string's `zone` goes first, that of the subject last."""
    name = check_time_zone("timezone", zone or body.timezone or home)
    return StandardRequest(
        queries=tuple(
            _parse_query(parameter, body, name, now_ms, f"parameters[{i}]")
            for i, parameter in enumerate(body.parameters)
        ),
        page=PageOptions(body.page, body.limit, _order(body)),
        time_zone=name,
        filters=body.filters,
        include_bots=body.include_bots,
        as_of=body.as_of,
    )


def _order(body: StandardRequestBody) -> Sequence[OrderTerm]:
    if body.sort_by is None or body.order_by:
        return body.order_by
    return [OrderTerm(body.sort_by, body.sort_order)]


def _parse_query(
    parameter: str | dict[str, Any], body: StandardRequestBody, zone: str, now_ms: int, at: str
) -> StandardQuery:
    said = {"name": parameter} if isinstance(parameter, str) else parameter
    own = convert(said, ParameterOptions, at)
    start, end, preset = own.start_date, own.end_date, own.preset
    if preset is None:
        start, end, preset = start or body.start_date, end or body.end_date, body.preset
    whole = parse_time_range(start, end, preset, zone, now_ms, MAX_DAYS)
    return StandardQuery(
        label=own.id or own.name,
        name=own.name,
        time_range=whole,
        comparison_range=comparison_range(body.compare, whole, now_ms, MAX_DAYS)
        if body.compare
        else None,
        granularity=_granularity(own.granularity or body.granularity),
        options={
            name: value
            for name, value in said.items()
            if name not in ParameterOptions.__struct_fields__
        },
        path=at,
    )


def _granularity(name: str) -> Granularity:
    if name not in GRANULARITIES:
        known = ", ".join(Granularity)
        raise Malformed(f"'granularity' is '{name[:40]}'; it must be one of {known}")
    return GRANULARITIES[name]
