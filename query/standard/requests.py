"""The body of a standard question (interface 2.2), checked and completed."""

from typing import Annotated

from msgspec import Meta, Struct, field

from query.filters import Filter
from query.span import Granularity, Span, checked_zone, day, span
from query.standard.run import Page
from schemas.failures import Malformed

MOST_DAYS = 3_660
MOST_PARAMETERS = 100
DEFAULT_LIMIT = 100
GRANULARITIES = {
    "hourly": Granularity.HOURLY,
    "hour": Granularity.HOURLY,
    "daily": Granularity.DAILY,
    "day": Granularity.DAILY,
}

Text = Annotated[str, Meta(max_length=256)]


class Named(Struct, frozen=True):
    """A parameter with a span or granularity of its own."""

    name: Text
    start_date: str | None = None
    end_date: str | None = None
    granularity: str | None = None
    id: Text | None = None


class StandardBody(Struct, frozen=True, rename="camel"):
    """What is sent."""

    parameters: Annotated[list[Text | Named], Meta(min_length=1, max_length=MOST_PARAMETERS)]
    start_date: str | None = None
    end_date: str | None = None
    granularity: str = "daily"
    limit: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    timezone: str | None = None
    filters: list[Filter] = []
    include_bots: bool = field(name="include_bots", default=False)


class Asked(Struct, frozen=True):
    """One question of a request."""

    label: str
    """`data[].parameter` of its answer."""
    name: str
    span: Span
    granularity: Granularity


class Questions(Struct, frozen=True):
    """A whole request."""

    asked: tuple[Asked, ...]
    page: Page
    zone: str
    filters: list[Filter]
    include_bots: bool


def questions(body: StandardBody, zone: str | None) -> Questions:
    """The questions of a body; `zone` is that of the query string, which goes first."""
    name = checked_zone("timezone", zone or body.timezone or "UTC")
    return Questions(
        asked=tuple(_asked(parameter, body, name) for parameter in body.parameters),
        page=Page(body.page, body.limit),
        zone=name,
        filters=body.filters,
        include_bots=body.include_bots,
    )


def _asked(parameter: str | Named, body: StandardBody, zone: str) -> Asked:
    own = parameter if isinstance(parameter, Named) else Named(parameter)
    return Asked(
        label=own.id or own.name,
        name=own.name,
        span=span(
            day("startDate", _given("startDate", own.start_date or body.start_date)),
            day("endDate", _given("endDate", own.end_date or body.end_date)),
            zone,
            MOST_DAYS,
        ),
        granularity=_granularity(own.granularity or body.granularity),
    )


def _given(field: str, value: str | None) -> str:
    if not value:
        raise Malformed(f"'{field}' is missing: give a date as YYYY-MM-DD")
    return value


def _granularity(name: str) -> Granularity:
    if name not in GRANULARITIES:
        raise Malformed(f"'granularity' is '{name[:40]}'; it must be hourly or daily")
    return GRANULARITIES[name]
