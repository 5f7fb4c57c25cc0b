"""retention: of those who first came in a day, week or month, how many came again in later ones."""

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
from query.standard.declaration.fields import Date, Percent
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Cte, Statement
from schemas.errors import Malformed
from schemas.tables import EVENTS

MAX_COHORTS = 100
WIDTHS = {
    "day": Granularity.DAILY,
    "week": Granularity.WEEKLY,
    "month": Granularity.MONTHLY,
}
BEYOND_MS = 40 * DAY_MS
"""More than any bucket is wide."""


class Retention(QueryOptions, frozen=True):
    """What the request says."""

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
    SELECT visitor_hash AS person, MIN(bucket) AS cohort
      FROM scoped
     WHERE visitor_hash IS NOT NULL
     GROUP BY visitor_hash
    """,
)


def retention_statement(asked: Retention) -> Statement:
    """Visitors by the bucket they first came in and each bucket they came in."""
    return Statement(
        granularity=WIDTHS[asked.period],
        finish=partial(retention_rows, asked.period),
        ctes=(FIRST,),
        sql="""
            SELECT cohort, bucket,
                   COUNT(DISTINCT visitor_hash) AS came
              FROM scoped
              JOIN first_seen
                ON person = visitor_hash
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
            f"'period' {period} makes {len(points)} cohorts of this span; "
            f"at most {MAX_COHORTS} are allowed"
        )
    over = _ends(time_range, width, points)
    known = min(time_range.end_ms, now_ms)
    came = {(row[0], row[1]): row[2] for row in rows}
    made: list[Row] = []
    for first, cohort in enumerate(points):
        size = came.get((cohort.bucket, cohort.bucket), 0)
        for later, point in enumerate(points[first:]):
            back = came.get((cohort.bucket, point.bucket), 0)
            complete = over[first + later] <= known
            made.append((cohort.label, later, size, back, back, size, complete))
    return made


def _ends(span: TimeRange, width: Granularity, points: Sequence[SeriesPoint]) -> list[int]:
    """The instant at which each bucket ends, which may be after the span."""
    longer = structs.replace(span, end_ms=span.end_ms + BEYOND_MS).points(width)
    begins = [datetime.fromisoformat(point.label) for point in longer]
    return [to_unix_ms(begins[i + 1], span.zone) for i in range(len(points))]


RETENTION = (
    QueryType(
        name="retention",
        description="visitors by when they first came in the span, and how many came again later",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=RetentionCell,
        default_limit=10_000,
        options=Retention,
        sql=retention_statement,
    ),
)
