"""lifecycle: visitors of each period by whether they are new, were there before, or are back.

A visitor who is active in a period is `new` if its first event ever is in the period, `returning`
if it was active in the period before, and `resurrecting` otherwise. `dormant` are those of the
period before who are not active in this one.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Literal

from msgspec import Struct, structs

from query.engine.engine import Row
from query.prepared.cohorts import LifecyclePeriods
from query.request.buckets import Granularity
from query.request.subject import SubjectKind
from query.request.time_range import TimeRange
from query.request.time_zones import to_local, to_unix_ms
from query.scope.visitor_facts import FIRST_BUCKET
from query.scope.visitor_sets import FIRST_MS
from query.sql.select import Cte
from query.standard.declaration.fields import Date
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.result_check import DAILY_IDS
from query.standard.declaration.statement import Statement
from query.standard.types.active_visitors import PERIODS
from schemas.tables import EVENTS


class Lifecycle(QueryOptions, frozen=True):
    """Options of the request."""

    period: Literal["day", "week", "month"] = "day"


class LifecyclePeriod(Struct, frozen=True):
    date: Date
    visitors: int
    new: int
    returning: int
    resurrecting: int
    dormant: int


def lifecycle_statement(options: Lifecycle) -> Statement:
    """Visitors by period, by their period before it, and by whether they are new in it."""
    width = PERIODS[options.period]
    return Statement(
        granularity=width,
        read_range=partial(with_period_before, width),
        rows_in_python=partial(lifecycle_rows, width),
        ctes=(
            Cte(
                "visitor_periods",
                f"""
                SELECT bucket AS active_period,
                       CASE WHEN {FIRST_BUCKET} = bucket THEN 1 ELSE 0 END AS is_new,
                       LAG(bucket) OVER (PARTITION BY visitor_hash ORDER BY bucket) AS last_period
                  FROM (SELECT DISTINCT visitor_hash, bucket, {FIRST_BUCKET}
                          FROM scoped
                         WHERE visitor_hash IS NOT NULL) AS visitor_buckets
                """,  # noqa: S608
            ),
        ),
        sql="""
            SELECT active_period, last_period, is_new, COUNT(*) AS visitors
              FROM visitor_periods
             GROUP BY active_period, last_period, is_new
             ORDER BY active_period, last_period, is_new
        """,
    )


def with_period_before(width: Granularity, time_range: TimeRange) -> TimeRange:
    """The time range from the start of the period before its first one."""
    first = to_local(time_range.start_ms, time_range.zone).date()
    if width is not Granularity.DAILY:
        first -= timedelta(days=first.weekday() if width is Granularity.WEEKLY else first.day - 1)
    before = first - timedelta(days=7 if width is Granularity.WEEKLY else 1)
    if width is Granularity.MONTHLY:
        before = before.replace(day=1)
    start_ms = to_unix_ms(datetime.combine(before, datetime.min.time()), time_range.zone)
    return structs.replace(time_range, start_ms=max(FIRST_MS, start_ms))


def lifecycle_rows(
    width: Granularity, rows: Sequence[Row], time_range: TimeRange, now_ms: int, *_: object
) -> Sequence[Row]:
    """A row for each period of the time range that has begun."""
    points = with_period_before(width, time_range).points(width)
    active, new, returning = Counter[int](), Counter[int](), Counter[int]()
    before = {point.bucket: earlier.bucket for earlier, point in pairwise(points)}
    for period, last_period, is_new, visitors in rows:
        active[period] += visitors
        if is_new:
            new[period] += visitors
        elif last_period is not None and before.get(period) == last_period:
            returning[period] += visitors
    return [
        (
            point.label,
            active[point.bucket],
            new[point.bucket],
            returning[point.bucket],
            active[point.bucket] - new[point.bucket] - returning[point.bucket],
            active[earlier.bucket] - returning[point.bucket],
        )
        for earlier, point in pairwise(points)
        if to_unix_ms(datetime.fromisoformat(point.label), time_range.zone) <= now_ms
    ]


LIFECYCLE = (
    QueryType(
        name="lifecycle",
        description="new, returning, resurrecting and dormant visitors of each period",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        checks=(DAILY_IDS,),
        row=LifecyclePeriod,
        default_limit=10_000,
        options=Lifecycle,
        prepared=LifecyclePeriods(),
        sql=lifecycle_statement,
    ),
)
