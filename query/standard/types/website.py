"""Query types of a website as a whole: totals, and totals by bucket."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Date, Mean, MeanSeconds, MedianSeconds, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.definitions import (
    DURATION_MS,
    IS_BOUNCE,
    MEDIAN_HIGH,
    MEDIAN_LOW,
    OTHER_COUNT,
    RANKED_SESSIONS,
    SESSIONS,
    VIEW_COUNT,
)
from schemas.tables import EVENTS


class Summary(Struct, frozen=True):
    pageviews: int
    unique_visitors: int
    sessions: int
    bounce_rate: Percent
    median_session_duration: MedianSeconds
    total_events: int


class TrafficByBucket(Struct, frozen=True):
    date: Date
    pageviews: int
    visitors: int
    sessions: int
    bounce_rate: Percent
    median_session_duration: MedianSeconds
    pages_per_session: Mean


class SessionMetrics(Struct, frozen=True):
    total_sessions: int
    avg_session_duration: MeanSeconds
    bounce_rate: Percent
    total_events: int


TOTALS = Cte(
    "totals",
    f"""
    SELECT COUNT(*) FILTER (WHERE {PAGE_VIEW}) AS pageviews,
           COUNT(DISTINCT visitor_hash)        AS visitors,
           COUNT(*)                            AS happened
      FROM scoped
    """,  # noqa: S608
)

OF_SESSIONS = Cte(
    "of_sessions",
    f"""
    SELECT COUNT(*)      AS session_total,
           SUM(bounced)  AS bounces,
           SUM(lasted)   AS together,
           {MEDIAN_LOW}  AS low,
           {MEDIAN_HIGH} AS high
      FROM ranked
    """,  # noqa: S608
)

BY_BUCKET = Cte(
    "by_bucket",
    f"""
    SELECT bucket                              AS point,
           COUNT(*) FILTER (WHERE {PAGE_VIEW}) AS viewed,
           COUNT(DISTINCT visitor_hash)        AS came
      FROM scoped
     GROUP BY bucket
    """,  # noqa: S608
)

# A session belongs to the bucket of its first page view; with a filter on rows that bucket may have
# no row.
SESSION_STARTS = Cte(
    "begun",
    f"""
    SELECT MIN(CASE WHEN {PAGE_VIEW} THEN bucket END) AS point,
           {VIEW_COUNT}                                    AS views,
           {OTHER_COUNT}                                   AS others,
           {DURATION_MS}                                   AS lasted
      FROM visit_rows
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    HAVING {VIEW_COUNT} > 0
    """,  # noqa: S608
)

SESSIONS_BY_POINT = Cte(
    "placed",
    f"""
    SELECT point,
           views,
           lasted,
           {IS_BOUNCE}                                           AS bounced,
           ROW_NUMBER() OVER (PARTITION BY point ORDER BY lasted) AS row_rank,
           COUNT(*) OVER (PARTITION BY point)                     AS row_count
      FROM begun
    """,  # noqa: S608
)

SESSIONS_BY_START = Cte(
    "by_begin",
    f"""
    SELECT point,
           COUNT(*)      AS session_total,
           SUM(bounced)  AS bounces,
           SUM(views)    AS in_sessions,
           {MEDIAN_LOW}  AS low,
           {MEDIAN_HIGH} AS high
      FROM placed
     GROUP BY point
    """,  # noqa: S608
)

WEBSITE = (
    QueryType(
        name="summary_metrics",
        aliases=("summary",),
        description="totals of the website; durations in seconds, bounce rate in percent",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Summary,
        ctes=(SESSIONS, RANKED_SESSIONS, TOTALS, OF_SESSIONS),
        sql="""
            SELECT pageviews,
                   visitors      AS unique_visitors,
                   session_total AS sessions,
                   bounces       AS bounce_rate_part,
                   session_total AS bounce_rate_whole,
                   low           AS median_session_duration_low,
                   high          AS median_session_duration_high,
                   happened      AS total_events
              FROM totals
             CROSS JOIN of_sessions
             ORDER BY total_events
        """,
    ),
    QueryType(
        name="events_by_date",
        description="the same totals for each bucket; a session counts where it began",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=TrafficByBucket,
        ctes=(BY_BUCKET, SESSION_STARTS, SESSIONS_BY_POINT, SESSIONS_BY_START),
        sql="""
            SELECT COALESCE(by_bucket.point, by_begin.point) AS at_point,
                   COALESCE(viewed, 0)        AS pageviews,
                   COALESCE(came, 0)          AS visitors,
                   COALESCE(session_total, 0) AS sessions,
                   bounces                    AS bounce_rate_part,
                   session_total              AS bounce_rate_whole,
                   low                        AS median_session_duration_low,
                   high                       AS median_session_duration_high,
                   in_sessions                AS pages_per_session_total,
                   session_total              AS pages_per_session_count
              FROM by_bucket
              FULL JOIN by_begin ON by_begin.point = by_bucket.point
             ORDER BY at_point
        """,
    ),
    QueryType(
        name="session_metrics",
        description="totals of all sessions",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=SessionMetrics,
        ctes=(SESSIONS, RANKED_SESSIONS, TOTALS, OF_SESSIONS),
        sql="""
            SELECT session_total AS total_sessions,
                   together      AS avg_session_duration_ms,
                   session_total AS avg_session_duration_count,
                   bounces       AS bounce_rate_part,
                   session_total AS bounce_rate_whole,
                   happened      AS total_events
              FROM totals
             CROSS JOIN of_sessions
             ORDER BY total_events
        """,
    ),
)
