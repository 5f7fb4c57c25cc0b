"""The body of a standard question (interface 2.2), checked and completed."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from query.engine.snapshots import AsOf
from query.request.body import converted
from query.request.buckets import GRANULARITIES
from query.request.comparison_range import Compare, other_span
from query.request.filters import Filter
from query.request.order import Order
from query.request.time_parameters import asked_span
from query.request.time_range import Granularity, Span, checked_zone
from query.standard.execute import Page
from schemas.errors import Malformed

MOST_DAYS = 3_660
MOST_PARAMETERS = 100
DEFAULT_LIMIT = 100

Text = Annotated[str, Meta(max_length=256)]


class Named(Struct, frozen=True):
    """A parameter with a span or granularity of its own."""

    name: Text
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    granularity: str | None = None
    id: Text | None = None


class StandardBody(Struct, frozen=True, rename="camel"):
    """What is sent."""

    parameters: Annotated[
        list[Text | dict[str, Any]], Meta(min_length=1, max_length=MOST_PARAMETERS)
    ]
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    granularity: str = "daily"
    limit: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    timezone: str | None = None
    filters: list[Filter] = []
    order_by: Annotated[list[Order], Meta(max_length=25)] = []
    sort_by: Text | None = None
    sort_order: Literal["asc", "desc"] = "desc"
    compare: Compare | None = None
    as_of: AsOf = None
    include_bots: bool = field(name="include_bots", default=False)


class Asked(Struct, frozen=True):
    """One question of a request."""

    label: str
    """`data[].parameter` of its answer."""
    name: str
    span: Span
    granularity: Granularity
    other: Span | None = None
    """What it is compared with."""
    own: Mapping[str, Any] = {}
    """What the parameter says beside that, for its type."""
    at: str = "parameters"


class Questions(Struct, frozen=True):
    """A whole request."""

    asked: tuple[Asked, ...]
    page: Page
    zone: str
    filters: list[Filter]
    include_bots: bool
    as_of: AsOf = None


def questions(body: StandardBody, zone: str | None, now_ms: int, home: str = "UTC") -> Questions:
    """The questions of a body; the query string's `zone` goes first, that of the subject last."""
    name = checked_zone("timezone", zone or body.timezone or home)
    return Questions(
        asked=tuple(
            _asked(parameter, body, name, now_ms, f"parameters[{i}]")
            for i, parameter in enumerate(body.parameters)
        ),
        page=Page(body.page, body.limit, _order(body)),
        zone=name,
        filters=body.filters,
        include_bots=body.include_bots,
        as_of=body.as_of,
    )


def _order(body: StandardBody) -> Sequence[Order]:
    if body.sort_by is None or body.order_by:
        return body.order_by
    return [Order(body.sort_by, body.sort_order)]


def _asked(
    parameter: str | dict[str, Any], body: StandardBody, zone: str, now_ms: int, at: str
) -> Asked:
    said = {"name": parameter} if isinstance(parameter, str) else parameter
    own = converted(said, Named, at)
    start, end, preset = own.start_date, own.end_date, own.preset
    if preset is None:
        start, end, preset = start or body.start_date, end or body.end_date, body.preset
    whole = asked_span(start, end, preset, zone, now_ms, MOST_DAYS)
    return Asked(
        label=own.id or own.name,
        name=own.name,
        span=whole,
        other=other_span(body.compare, whole, now_ms, MOST_DAYS) if body.compare else None,
        granularity=_granularity(own.granularity or body.granularity),
        own={name: value for name, value in said.items() if name not in Named.__struct_fields__},
        at=at,
    )


def _granularity(name: str) -> Granularity:
    if name not in GRANULARITIES:
        known = ", ".join(Granularity)
        raise Malformed(f"'granularity' is '{name[:40]}'; it must be one of {known}")
    return GRANULARITIES[name]
