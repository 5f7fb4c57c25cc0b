"""retention: cohorts of visitors by their first day, week or month, and how many returned later."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from msgspec import Struct, structs

from query.engine.engine import Row
from query.request.buckets import Granularity
from query.request.subject import SubjectKind
from query.request.time_range import SeriesPoint, TimeRange
from query.request.time_zones import DAY_MS, to_unix_ms
from query.sql.select import Cte
from query.standard.declaration.fields import Date, Percent
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from schemas.errors import Malformed
from schemas.tables import EVENTS

MAX_COHORTS = 100
WIDTHS = {
    "day": Granularity.DAILY,
    "week": Granularity.WEEKLY,
    "month": Granularity.MONTHLY,
}
BEYOND_MS = 40 * DAY_MS
"""Wider than any bucket."""


class Retention(QueryOptions, frozen=True):
    """Options of the request."""

    period: Literal["day", "week", "month"] = "week"


class RetentionCell(Struct, frozen=True):
    date: Date
    period: int
    visitors: int
    returned: int
    rate: Percent
    complete: bool


FIRST = Cte(
    "first_seen",
    """
    SELECT visitor_hash AS cohort_visitor, MIN(bucket) AS cohort
      FROM scoped
     WHERE visitor_hash IS NOT NULL
     GROUP BY visitor_hash
    """,
)


def retention_statement(options: Retention) -> Statement:
    """Visitors by cohort and by each bucket in which they have events."""
    return Statement(
        granularity=WIDTHS[options.period],
        rows_in_python=partial(retention_rows, options.period),
        ctes=(FIRST,),
        sql="""
            SELECT cohort, bucket,
                   COUNT(DISTINCT visitor_hash) AS visitors
              FROM scoped
              JOIN first_seen
                ON cohort_visitor = visitor_hash
             GROUP BY cohort, bucket
             ORDER BY cohort, bucket
        """,
    )


def retention_rows(
    period: str, rows: Sequence[Row], time_range: TimeRange, now_ms: int
) -> Sequence[Row]:
    """A row for each cohort and each period after it; a period that is not over is incomplete."""
    width = WIDTHS[period]
    points = time_range.points(width)
    if len(points) > MAX_COHORTS:
        raise Malformed(
            f"'period' {period} makes {len(points)} cohorts in this time range; "
            f"at most {MAX_COHORTS} are allowed"
        )
    ends = _ends(time_range, width, points)
    known_until_ms = min(time_range.end_ms, now_ms)
    visitors = {(row[0], row[1]): row[2] for row in rows}
    cells: list[Row] = []
    for first, cohort in enumerate(points):
        size = visitors.get((cohort.bucket, cohort.bucket), 0)
        for later, point in enumerate(points[first:]):
            returned = visitors.get((cohort.bucket, point.bucket), 0)
            complete = ends[first + later] <= known_until_ms
            cells.append((cohort.label, later, size, returned, returned, size, complete))
    return cells


def _ends(time_range: TimeRange, width: Granularity, points: Sequence[SeriesPoint]) -> list[int]:
    """The end of each bucket, which may lie after the time range."""
    longer = structs.replace(time_range, end_ms=time_range.end_ms + BEYOND_MS).points(width)
    begins = [datetime.fromisoformat(point.label) for point in longer]
    return [to_unix_ms(begins[i + 1], time_range.zone) for i in range(len(points))]


RETENTION = (
    QueryType(
        name="retention",
        description="cohorts of visitors by first visit in the time range, and how many "
        "returned later",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=RetentionCell,
        default_limit=10_000,
        options=Retention,
        sql=retention_statement,
    ),
)
