"""Body of a standard query request, parsed into one Query for each parameter."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from query.engine.snapshots import AsOf
from query.request.body import convert
from query.request.buckets import GRANULARITIES
from query.request.comparison_range import CompareOptions, comparison_range
from query.request.filters import Filter
from query.request.order import OrderTerm
from query.request.query import PageOptions, Query
from query.request.subject import QuerySubject
from query.request.time_parameters import parse_time_range
from query.request.time_range import Granularity, check_time_zone
from schemas.errors import Malformed

MAX_DAYS = 3_660
MAX_PARAMETERS = 100
DEFAULT_LIMIT = 100

ShortText = Annotated[str, Meta(max_length=256)]


class ParameterOptions(Struct, frozen=True):
    """A parameter that is an object: its time range and granularity override those of the body."""

    name: ShortText
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    granularity: str | None = None
    id: ShortText | None = None


class StandardRequestBody(Struct, frozen=True, rename="camel"):
    """Standard queries about one subject."""

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


def parse_request(
    body: StandardRequestBody, subject: QuerySubject, time_zone: str | None, now_ms: int
) -> tuple[Query, ...]:
    """One query for each parameter of the body.

    The time zone is that of the query string, else of the body, else of the subject.
    """
    zone = check_time_zone("timezone", time_zone or body.timezone or subject.time_zone)
    page = PageOptions(body.page, body.limit, _order(body))
    return tuple(
        _parse_query(parameter, body, subject, page, zone, now_ms, f"parameters[{i}]")
        for i, parameter in enumerate(body.parameters)
    )


def _order(body: StandardRequestBody) -> Sequence[OrderTerm]:
    if body.sort_by is None or body.order_by:
        return body.order_by
    return [OrderTerm(body.sort_by, body.sort_order)]


def _parse_query(
    parameter: str | dict[str, Any],
    body: StandardRequestBody,
    subject: QuerySubject,
    page: PageOptions,
    zone: str,
    now_ms: int,
    path: str,
) -> Query:
    fields = {"name": parameter} if isinstance(parameter, str) else parameter
    own = convert(fields, ParameterOptions, path)
    start, end, preset = own.start_date, own.end_date, own.preset
    if preset is None:
        start, end, preset = start or body.start_date, end or body.end_date, body.preset
    requested = parse_time_range(start, end, preset, zone, now_ms, MAX_DAYS)
    compared = None
    if body.compare:
        compared = comparison_range(body.compare, requested, now_ms, MAX_DAYS)
    return Query(
        subject=subject,
        time_range=requested,
        now_ms=now_ms,
        filters=body.filters,
        include_bots=body.include_bots,
        as_of=body.as_of,
        page=page,
        granularity=_granularity(own.granularity or body.granularity),
        comparison_range=compared,
        name=own.name,
        label=own.id or own.name,
        options={n: v for n, v in fields.items() if n not in ParameterOptions.__struct_fields__},
        path=path,
    )


def _granularity(name: str) -> Granularity:
    if name not in GRANULARITIES:
        known = ", ".join(Granularity)
        raise Malformed(f"'granularity' is '{name[:40]}'; it must be one of {known}")
    return GRANULARITIES[name]
