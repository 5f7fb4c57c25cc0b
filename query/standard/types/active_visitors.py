"""How often visitors are active: daily, weekly and monthly visitors of each day; active periods.

Weekly visitors of a day are those with an event in the seven days that end with it, monthly ones
in the thirty days. A visitor who is active on days d1 < d2 < ... is in the window of n days from
each d up to d + n - 1, or up to the day before the next one: the changes of these spans, added up
by day, give the number of distinct visitors without counting any visitor twice.
"""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Literal

from msgspec import Struct, structs

from query.engine.engine import Row
from query.prepared.cohorts import VisitorsByActivity, WindowChanges
from query.request.buckets import Granularity
from query.request.subject import SubjectKind
from query.request.time_range import TimeRange
from query.request.time_zones import DAY_MS, to_local, to_unix_ms
from query.scope.visitor_sets import FIRST_MS
from query.sql.select import Cte
from query.standard.declaration.fields import Date, KeyInteger, Percent
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.result_check import DAILY_IDS
from query.standard.declaration.statement import Statement
from schemas.tables import EVENTS

WEEK_DAYS, MONTH_DAYS = 7, 30
WINDOWS = (1, WEEK_DAYS, MONTH_DAYS)
PERIODS = {
    "day": Granularity.DAILY,
    "week": Granularity.WEEKLY,
    "month": Granularity.MONTHLY,
}


class ActiveVisitors(Struct, frozen=True):
    date: Date
    daily_visitors: int
    weekly_visitors: int
    monthly_visitors: int
    daily_of_weekly: Percent
    daily_of_monthly: Percent


class Stickiness(QueryOptions, frozen=True):
    """Options of the request."""

    period: Literal["day", "week", "month"] = "day"


class ActivePeriods(Struct, frozen=True):
    periods: KeyInteger
    visitors: int
    percentage: Percent


ACTIVE_DAYS = Cte(
    "active_days",
    """
    SELECT bucket AS active_day,
           LEAD(bucket) OVER (PARTITION BY visitor_hash ORDER BY bucket) AS next_day
      FROM (SELECT DISTINCT visitor_hash, bucket
              FROM scoped
             WHERE visitor_hash IS NOT NULL) AS visitor_days
    """,
)


def _window_end(days: int) -> str:
    """SQL of the day on which a visitor leaves the window, or is in it anew."""
    end = f"active_day + {days * DAY_MS}"
    return f"CASE WHEN next_day < {end} THEN next_day ELSE {end} END"


WINDOW_CHANGES = Cte(
    "window_changes",
    f"""
    SELECT active_day AS changed_day, 1 AS daily, 1 AS weekly, 1 AS monthly FROM active_days
     UNION ALL
    SELECT {_window_end(1)} AS changed_day, -1, 0, 0 FROM active_days
     UNION ALL
    SELECT {_window_end(WEEK_DAYS)} AS changed_day, 0, -1, 0 FROM active_days
     UNION ALL
    SELECT {_window_end(MONTH_DAYS)} AS changed_day, 0, 0, -1 FROM active_days
    """,  # noqa: S608
)


def thirty_days(time_range: TimeRange) -> TimeRange:
    """The time range and the days before it that the windows of its first day contain."""
    first = to_local(time_range.start_ms, time_range.zone).date()
    start = datetime.combine(first - timedelta(days=MONTH_DAYS - 1), datetime.min.time())
    start_ms = max(FIRST_MS, to_unix_ms(start, time_range.zone))
    return structs.replace(time_range, start_ms=start_ms)


def active_visitor_rows(
    rows: Sequence[Row], time_range: TimeRange, now_ms: int, *_: object
) -> Sequence[Row]:
    """A row for each day of the time range that has begun, from the changes up to it."""
    points = time_range.points(Granularity.DAILY)
    days = [point.bucket for point in points]
    changes = [[0] * len(days) for _ in range(3)]
    for changed_day, *of_windows in rows:
        if (at := bisect_left(days, changed_day)) < len(days):
            for window, change in zip(changes, of_windows, strict=True):
                window[at] += change
    return [
        (point.label, daily, weekly, monthly, daily, weekly, daily, monthly)
        for point, daily, weekly, monthly in zip(points, *map(accumulate, changes), strict=True)
        if to_unix_ms(datetime.fromisoformat(point.label), time_range.zone) <= now_ms
    ]


def stickiness_statement(options: Stickiness) -> Statement:
    """Visitors by the number of days, weeks or months in which they have an event."""
    return Statement(
        granularity=PERIODS[options.period],
        ctes=(
            Cte(
                "visitor_periods",
                """
                SELECT visitor_hash, COUNT(DISTINCT bucket) AS period_count
                  FROM scoped
                 WHERE visitor_hash IS NOT NULL
                 GROUP BY visitor_hash
                """,
            ),
        ),
        sql="""
            SELECT period_count AS periods,
                   COUNT(*) AS visitors,
                   COUNT(*) AS percentage_part,
                   SUM(COUNT(*)) OVER () AS percentage_whole
              FROM visitor_periods
             GROUP BY period_count
             ORDER BY periods
        """,
    )


ACTIVE_VISITORS = (
    QueryType(
        name="active_visitors",
        description="daily, weekly (7 days) and monthly (30 days) visitors up to and with each day",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        checks=(DAILY_IDS,),
        row=ActiveVisitors,
        default_limit=10_000,
        prepared=WindowChanges(WINDOWS),
        sql=Statement(
            granularity=Granularity.DAILY,
            read_range=thirty_days,
            rows_in_python=active_visitor_rows,
            ctes=(ACTIVE_DAYS, WINDOW_CHANGES),
            sql="""
                SELECT changed_day,
                       SUM(daily)   AS daily_change,
                       SUM(weekly)  AS weekly_change,
                       SUM(monthly) AS monthly_change
                  FROM window_changes
                 GROUP BY changed_day
                 ORDER BY changed_day
            """,
        ),
    ),
    QueryType(
        name="stickiness",
        description="visitors by the number of days, weeks or months in which they were active",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        checks=(DAILY_IDS,),
        row=ActivePeriods,
        default_limit=1_000,
        options=Stickiness,
        prepared=VisitorsByActivity(),
        sql=stickiness_statement,
    ),
)
