"""Arguments of the tools; their JSON schemas are made from these declarations."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

FILTER_HELP = (
    "Conditions that must all hold. Each is text such as `country = DE`, `path starts_with /docs`, "
    "`plan in pro, team` or `referrer is null`, or an object {field, operator, value}, "
    "{or: [...]}, {and: [...]} or {not: {...}}."
)
ORDER_HELP = "Fields to order by, descending: `visitors`, or `name asc`."
Positive = Annotated[int, Meta(ge=1)]
FilterList = list[str | dict[str, Any]]
Filters = Annotated[FilterList, Meta(description=FILTER_HELP)]
Compare = Annotated[
    str | None,
    Meta(
        description="previous_period, same_weekdays or previous_year: adds previous_… and change_… "
        "columns."
    ),
]
Order = Annotated[list[str], Meta(description=ORDER_HELP)]


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool without arguments."""


class NameArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The name of one entry of a list."""

    name: Annotated[str | None, Meta(description="Details of this one only.")] = None


class TimeArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every query has: subject, time range, filters, page."""

    website_id: Annotated[
        str | None, Meta(description="Website, if another one than the default is meant.")
    ] = None
    start: Annotated[str | None, Meta(description="First day (2026-11-01) or ISO 8601 time.")] = (
        None
    )
    end: Annotated[str | None, Meta(description="Last day, inclusive. Default: now.")] = None
    preset: Annotated[
        str | None,
        Meta(
            description="Instead of start and end: today, yesterday, last_7d, last_30d, "
            "this_month, last_month, this_year, … Default: last_7d."
        ),
    ] = None
    timezone: Annotated[
        str | None, Meta(description="IANA time zone of the days. Default: the website's.")
    ] = None
    person: Annotated[
        Literal["device", "profile"] | None,
        Meta(description="What counts as one visitor: a device (default), or a profile's devices."),
    ] = None
    include_bots: Annotated[bool, Meta(description="Count bot traffic too.")] = False
    limit: Annotated[Positive | None, Meta(description="Rows of a page.")] = None
    page: Annotated[Positive | None, Meta(description="Which page.")] = None


class QueryTypeArguments(TimeArguments, frozen=True, kw_only=True):
    """A named query type with its options."""

    query_type: Annotated[str, Meta(description="A name of list_query_types, e.g. `top_pages`.")]
    options: Annotated[
        dict[str, Any],
        Meta(
            description="Options of the type, e.g. for funnel "
            '{"steps": ["/", "/pricing", "signup"], "order": "strict", "exclusions": ["/help"]}: a '
            "path, or the name of an event."
        ),
    ] = {}
    link_id: Annotated[
        str | None, Meta(description="Short link, for query types whose name begins with link_.")
    ] = None
    filters: Filters = []
    order_by: Order = []
    granularity: Annotated[
        str | None,
        Meta(
            description="Bucket of a time series: minute, quarter_hour, hourly, daily, weekly, "
            "sunday_week, monthly, quarterly, yearly."
        ),
    ] = None
    compare: Compare = None


class MetricsArguments(TimeArguments, frozen=True, kw_only=True):
    """Metrics by dimensions."""

    metrics: Annotated[
        list[str | dict[str, Any]],
        Meta(
            min_length=1,
            description="Names of list_metrics, e.g. visitors; with arguments "
            "conversions(Sign-up), conversion_rate(Sign-up), revenue(EUR), "
            "sum(properties.price) as turnover, p95(load_time); or objects as in the API.",
        ),
    ]
    dimensions: Annotated[
        list[str],
        Meta(description="Names of list_metrics, e.g. visit.channel, path, time:day."),
    ] = []
    filters: Filters = []
    having: Annotated[FilterList, Meta(description="Conditions on metrics: `visits > 10`.")] = []
    segments: Annotated[
        list[str | None],
        Meta(description="Names of saved segments side by side, null for all visitors."),
    ] = []
    goals: Annotated[
        list[str | dict[str, Any]],
        Meta(
            description="What conversions are of, when no saved goal is named: an event, a path, "
            "or an object {event or path, filters, label}."
        ),
    ] = []
    order_by: Order = []
    compare: Compare = None


class CustomArguments(TimeArguments, frozen=True, kw_only=True):
    """Aggregates over one table."""

    table: Annotated[str, Meta(description="A name of list_tables, e.g. events or sessions.")]
    selects: Annotated[
        list[dict[str, str]],
        Meta(
            min_length=1,
            description='Values: {"field": "*", "aggregate": "count", "alias": "n"}.',
        ),
    ]
    group_by: Annotated[
        list[str], Meta(description="Columns, properties.<path> or time:daily; at most 5.")
    ] = []
    filters: Filters = []
    having: Annotated[FilterList, Meta(description="Conditions on aliases: `n > 10`.")] = []
    order_by: Order = []
