"""funnel_trend: how many visitors or sessions enter a funnel in each bucket, and convert later.

Each counts once, in the bucket of its first row that is a first step, so that the buckets add up to
the first and the last step of `funnel`.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.request.time_range import Granularity, TimeRange
from query.scope.scope import BUCKET
from query.sql.fragment import merge_values
from query.sql.select import Cte
from query.standard.declaration.fields import Date, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.types.funnel import FunnelSequence, sequence_steps
from schemas.tables import EVENTS


class FunnelTrendOptions(FunnelSequence, frozen=True):
    """Options of the request."""


class FunnelBucket(Struct, frozen=True):
    date: Date
    entered: int
    converted: int
    conversion_rate: Percent
    complete: bool


CONVERTED = Cte(
    "converted_actors",
    """
    SELECT actor_key AS converted_actor
      FROM completed
     WHERE step_number = $last_step
       AND completion_rank = 1
    """,
)


def funnel_trend_statement(options: FunnelTrendOptions) -> Statement:
    """Who entered in each bucket, and who of them completed the last step."""
    steps = sequence_steps(options, BUCKET)
    return Statement(
        ctes=(*steps.ctes, CONVERTED),
        values=merge_values(steps.values, {"last_step": len(options.steps)}),
        rows_in_python=partial(mark_complete, options.window * 1000),
        sql="""
            SELECT breakdown_value        AS first_bucket,
                   COUNT(*)               AS entered,
                   COUNT(converted_actor) AS converted,
                   COUNT(converted_actor) AS conversion_rate_part,
                   COUNT(*)               AS conversion_rate_whole,
                   0                      AS complete
              FROM actor_values
              LEFT JOIN converted_actors
                ON converted_actor = valued_actor
             GROUP BY breakdown_value
             ORDER BY first_bucket
        """,
    )


def mark_complete(
    window_ms: int,
    rows: Sequence[Row],
    time_range: TimeRange,
    now_ms: int,
    granularity: Granularity,
) -> Sequence[Row]:
    """The rows of all buckets; complete are those whose last window is over, and was all read."""
    over_ms = min(time_range.end_ms, now_ms) - window_ms
    points = time_range.points(granularity)
    first_open = points[0].bucket if points else 0
    if over_ms > time_range.start_ms:
        first_open = time_range.bucket_number(over_ms, granularity)
    return [(*row[:-1], point.bucket < first_open) for row, point in zip(rows, points, strict=True)]


FUNNEL_TREND = (
    QueryType(
        name="funnel_trend",
        description="visitors (or sessions) by when they first enter a funnel, and how many of "
        "them complete its last step",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=FunnelBucket,
        default_limit=10_000,
        options=FunnelTrendOptions,
        sql=funnel_trend_statement,
    ),
)
