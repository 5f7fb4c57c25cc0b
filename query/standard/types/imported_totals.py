"""Query types of imported totals: what other products counted by day, beside the website's data.

They are never added to it, also on days that have both. Totals of a day may be added up to those of
several days, but for visitors: who came on two days was counted twice.
"""

from typing import Annotated, Literal

from msgspec import Struct

from query.request.subject import SubjectKind
from query.scope.imported_days import whole_days
from query.sql.select import Cte
from query.standard.declaration.fields import (
    Date,
    FieldSpec,
    OptionalInteger,
    OptionalPercent,
    OptionalText,
    mean,
    mean_seconds,
)
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.types.active_visitors import PERIODS
from schemas.tables import IMPORTED_TOTALS
from schemas.tables.imported_totals import TOTALS_DIMENSIONS

WHOLE_WEBSITE = ""
"""The dimension of totals that are not split."""

DIMENSIONS = {
    **dict.fromkeys(("summary_metrics", "events_by_date", "session_metrics"), WHOLE_WEBSITE),
    "top_pages": "path",
    "entry_pages": "entry_page",
    "exit_pages": "exit_page",
    "traffic_sources": "referrer_name",
    "top_referrers": "referrer_name",
    "channels": "channel",
    "utm_sources": "utm_source",
    "utm_mediums": "utm_medium",
    "utm_campaigns": "utm_campaign",
    "utm_terms": "utm_term",
    "utm_content": "utm_content",
    "country": "country",
    "region": "region",
    "city": "city",
    "language": "language",
    "device_types": "device_type",
    "browser_name": "browser_name",
    "browsers": "browser_name",
    "os_name": "os_name",
    "operating_systems": "os_name",
    "custom_events": "name",
}
"""The dimension of imported totals that has what a query type counts, by its name."""

OptionalMean = Annotated[
    float | None,
    FieldSpec(
        ("_total", "_count"), lambda total, n: None if total is None else mean(total, n), "mean"
    ),
]
OptionalMeanSeconds = Annotated[
    float | None,
    FieldSpec(
        ("_ms", "_count"), lambda ms, n: None if ms is None else mean_seconds(ms, n), "seconds"
    ),
]


class TotalsOptions(QueryOptions, frozen=True):
    """Options of the request."""

    dimension: Literal[TOTALS_DIMENSIONS] | None = None  # type: ignore[valid-type]
    """What the totals are split by; without it one row of the whole website."""


class SeriesOptions(QueryOptions, frozen=True):
    """Options of the request."""

    period: Literal["day", "week", "month"] = "day"


class ImportedTotals(Struct, frozen=True):
    name: OptionalText
    product: str
    daily_visitors: OptionalInteger
    pageviews: OptionalInteger
    sessions: OptionalInteger
    bounce_rate: OptionalPercent
    avg_session_duration: OptionalMeanSeconds
    pages_per_session: OptionalMean
    custom_events: OptionalInteger


class ImportedTotalsByDate(Struct, frozen=True):
    date: Date
    product: str
    daily_visitors: OptionalInteger
    pageviews: OptionalInteger
    sessions: OptionalInteger
    bounce_rate: OptionalPercent
    avg_session_duration: OptionalMeanSeconds
    pages_per_session: OptionalMean
    custom_events: OptionalInteger


COUNTED = Cte(
    "counted_totals",
    """
    SELECT *
      FROM scoped
     WHERE dimension = $dimension
    """,
)

SUMS = """
    CASE WHEN MIN(product) = MAX(product) THEN MIN(product)
         ELSE MIN(product) || ', ' || MAX(product)
    END                                                   AS product_names,
    SUM(visitors)                                         AS visitor_count,
    SUM(page_views)                                       AS page_view_count,
    SUM(visits)                                           AS visit_count,
    SUM(bounces)                                          AS bounce_rate_part,
    SUM(visits) FILTER (WHERE bounces IS NOT NULL)        AS bounce_rate_whole,
    SUM(visit_seconds) * 1000                             AS avg_session_duration_ms,
    SUM(visits) FILTER (WHERE visit_seconds IS NOT NULL)  AS avg_session_duration_count,
    SUM(page_views) FILTER (WHERE visits IS NOT NULL)     AS pages_per_session_total,
    SUM(visits) FILTER (WHERE page_views IS NOT NULL)     AS pages_per_session_count,
    SUM(events)                                           AS event_count
"""
"""What rows add up to; NULL where no report has it."""


def totals_statement(options: TotalsOptions) -> Statement:
    """Totals of the time range by the values of a dimension."""
    return Statement(
        read_range=whole_days,
        values={"dimension": options.dimension or WHOLE_WEBSITE},
        ctes=(COUNTED,),
        sql=f"""
            SELECT value AS label,
                   {SUMS}
              FROM counted_totals
             GROUP BY value
             ORDER BY visitor_count DESC NULLS LAST, page_view_count DESC NULLS LAST,
                      event_count DESC NULLS LAST, label NULLS LAST
        """,  # noqa: S608
    )


def series_statement(options: SeriesOptions) -> Statement:
    """Totals of the whole website by day, week or month."""
    return Statement(
        read_range=whole_days,
        granularity=PERIODS[options.period],
        values={"dimension": WHOLE_WEBSITE},
        ctes=(COUNTED,),
        sql=f"""
            SELECT bucket AS result_bucket,
                   {SUMS}
              FROM counted_totals
             GROUP BY bucket
             ORDER BY result_bucket
        """,  # noqa: S608
    )


IMPORTED = (
    QueryType(
        name="imported_totals",
        description="what another product counted, by one dimension; `daily_visitors` is the sum "
        "of the visitors of each day; null where its reports do not have a number",
        subject=SubjectKind.WEBSITE,
        table=IMPORTED_TOTALS,
        row=ImportedTotals,
        options=TotalsOptions,
        sql=totals_statement,
    ),
    QueryType(
        name="imported_totals_by_date",
        description="the same of the whole website by day, week or month, without those that have "
        "no totals",
        subject=SubjectKind.WEBSITE,
        table=IMPORTED_TOTALS,
        row=ImportedTotalsByDate,
        default_limit=10_000,
        options=SeriesOptions,
        sql=series_statement,
    ),
)
