"""Questions about a website as a whole: its totals, and their course in time."""

from msgspec import Struct

from query.standard.declaration.fields import Date, Mean, MeanSeconds, MedianSeconds, Percent
from query.standard.declaration.query_type import Cte, QueryType, Subject
from query.standard.sql.definitions import (
    BOUNCED,
    HIGH,
    LASTED,
    LOW,
    OTHERS,
    PAGE_VIEW,
    RANKED,
    VIEWS,
    VISITS,
)
from schemas.tables import EVENTS


class Summary(Struct, frozen=True):
    pageviews: int
    unique_visitors: int
    sessions: int
    bounce_rate: Percent
    median_session_duration: MedianSeconds
    total_events: int


class Course(Struct, frozen=True):
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
    SELECT COUNT(*)     AS held,
           SUM(bounced) AS bounces,
           SUM(lasted)  AS together,
           {LOW}        AS low,
           {HIGH}       AS high
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

# A session belongs to the bucket of its first page view.
BEGUN = Cte(
    "begun",
    f"""
    SELECT MIN(CASE WHEN {PAGE_VIEW} THEN bucket END) AS point,
           {VIEWS}                                    AS views,
           {OTHERS}                                   AS others,
           {LASTED}                                   AS lasted
      FROM scoped
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    HAVING {VIEWS} > 0
    """,  # noqa: S608
)

PLACED = Cte(
    "placed",
    f"""
    SELECT point,
           views,
           lasted,
           {BOUNCED}                                           AS bounced,
           ROW_NUMBER() OVER (PARTITION BY point ORDER BY lasted) AS place,
           COUNT(*) OVER (PARTITION BY point)                     AS places
      FROM begun
    """,  # noqa: S608
)

BY_BEGIN = Cte(
    "by_begin",
    f"""
    SELECT point,
           COUNT(*)     AS held,
           SUM(bounced) AS bounces,
           SUM(views)   AS in_sessions,
           {LOW}        AS low,
           {HIGH}       AS high
      FROM placed
     GROUP BY point
    """,  # noqa: S608
)

WEBSITE = (
    QueryType(
        name="summary_metrics",
        aliases=("summary",),
        meaning="totals of the website; durations in seconds, bounce rate in percent",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Summary,
        given=(VISITS, RANKED, TOTALS, OF_SESSIONS),
        sql="""
            SELECT pageviews,
                   visitors AS unique_visitors,
                   held     AS sessions,
                   bounces  AS bounce_rate_part,
                   held     AS bounce_rate_whole,
                   low      AS median_session_duration_low,
                   high     AS median_session_duration_high,
                   happened AS total_events
              FROM totals
             CROSS JOIN of_sessions
             ORDER BY total_events
        """,
    ),
    QueryType(
        name="events_by_date",
        meaning="the same totals for each day or hour; a session counts where it began",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Course,
        given=(BY_BUCKET, BEGUN, PLACED, BY_BEGIN),
        sql="""
            SELECT by_bucket.point,
                   viewed                   AS pageviews,
                   came                     AS visitors,
                   COALESCE(held, 0)        AS sessions,
                   bounces                  AS bounce_rate_part,
                   held                     AS bounce_rate_whole,
                   low                      AS median_session_duration_low,
                   high                     AS median_session_duration_high,
                   in_sessions              AS pages_per_session_total,
                   held                     AS pages_per_session_count
              FROM by_bucket
              LEFT JOIN by_begin ON by_begin.point = by_bucket.point
             ORDER BY by_bucket.point
        """,
    ),
    QueryType(
        name="session_metrics",
        meaning="totals of all sessions",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=SessionMetrics,
        given=(VISITS, RANKED, TOTALS, OF_SESSIONS),
        sql="""
            SELECT held     AS total_sessions,
                   together AS avg_session_duration_ms,
                   held     AS avg_session_duration_count,
                   bounces  AS bounce_rate_part,
                   held     AS bounce_rate_whole,
                   happened AS total_events
              FROM totals
             CROSS JOIN of_sessions
             ORDER BY total_events
        """,
    ),
)
