"""Query types of a website as a whole: totals, and totals by bucket."""

from msgspec import Struct

from query.engine.engine import Row
from query.prepared.forms import Totals, TotalsByBucket
from query.prepared.totals_index import BucketTotals
from query.request.subject import SubjectKind
from query.scope.session_rows import MERGED_MEASURES, PAGE_VIEWS
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Date, Mean, MeanSeconds, MedianSeconds, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.definitions import (
    IS_BOUNCE,
    MEDIAN_HIGH,
    MEDIAN_LOW,
    RANKED_SESSIONS,
    SESSIONS,
)
from schemas.tables import EVENTS


class Summary(Struct, frozen=True):
    pageviews: int
    unique_visitors: int
    sessions: int
    bounce_rate: Percent
    median_session_duration: MedianSeconds
    pages_per_session: Mean
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
           COUNT(*)                            AS event_count
      FROM scoped
    """,  # noqa: S608
)

SESSION_TOTALS = Cte(
    "session_totals",
    f"""
    SELECT COUNT(*)         AS session_count,
           SUM(is_bounce)   AS bounces,
           SUM(duration_ms) AS total_duration_ms,
           SUM(page_views)  AS session_page_views,
           {MEDIAN_LOW}     AS median_low_ms,
           {MEDIAN_HIGH}    AS median_high_ms
      FROM ranked_sessions
    """,  # noqa: S608
)

BUCKET_ROWS = Cte(
    "bucket_rows",
    f"""
    SELECT bucket                              AS time_bucket,
           COUNT(*) FILTER (WHERE {PAGE_VIEW}) AS page_view_count,
           COUNT(DISTINCT visitor_hash)        AS visitor_count
      FROM scoped
     GROUP BY bucket
    """,  # noqa: S608
)

# A session belongs to the bucket of its first page view; with a filter on rows that bucket may have
# no row.
SESSION_STARTS = Cte(
    "session_starts",
    f"""
    SELECT MIN(bucket) FILTER (WHERE page_views > 0) AS time_bucket,
           {MERGED_MEASURES}
      FROM session_rows
     GROUP BY session_hash
    HAVING {PAGE_VIEWS} > 0
    """,  # noqa: S608
)

RANKED_SESSION_STARTS = Cte(
    "ranked_session_starts",
    f"""
    SELECT time_bucket,
           page_views,
           duration_ms,
           {IS_BOUNCE}                                                       AS is_bounce,
           ROW_NUMBER() OVER (PARTITION BY time_bucket ORDER BY duration_ms) AS row_rank,
           COUNT(*) OVER (PARTITION BY time_bucket)                          AS row_count
      FROM session_starts
    """,  # noqa: S608
)

BUCKET_SESSIONS = Cte(
    "bucket_sessions",
    f"""
    SELECT time_bucket,
           COUNT(*)        AS session_count,
           SUM(is_bounce)  AS bounces,
           SUM(page_views) AS session_page_views,
           {MEDIAN_LOW}    AS median_low_ms,
           {MEDIAN_HIGH}   AS median_high_ms
      FROM ranked_session_starts
     GROUP BY time_bucket
    """,  # noqa: S608
)


def _of_sessions(totals: BucketTotals) -> tuple[int | None, ...]:
    """Bounces of all sessions, and the two middle durations: nothing without sessions."""
    if not totals.sessions:
        return None, 0, None, None
    return totals.bounces, totals.sessions, totals.median_low_ms, totals.median_high_ms


def _summary(totals: BucketTotals) -> Row:
    counts = (totals.page_views, totals.visitors, totals.sessions)
    views = totals.session_page_views if totals.sessions else None
    return *counts, *_of_sessions(totals), views, totals.sessions, totals.row_count


def _of_bucket(totals: BucketTotals) -> Row:
    counts = (totals.page_views, totals.visitors, totals.sessions)
    if not totals.sessions:
        return *counts, None, None, None, None, None, None
    return *counts, *_of_sessions(totals), totals.session_page_views, totals.sessions


def _session_metrics(totals: BucketTotals) -> Row:
    bounces, sessions, *_ = _of_sessions(totals)
    duration = totals.duration_ms if totals.sessions else None
    return sessions, duration, sessions, bounces, sessions, totals.row_count


WEBSITE = (
    QueryType(
        name="summary_metrics",
        prepared=Totals(_summary),
        aliases=("summary",),
        description="totals of the website; durations in seconds, bounce rate in percent",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Summary,
        ctes=(SESSIONS, RANKED_SESSIONS, TOTALS, SESSION_TOTALS),
        sql="""
            SELECT pageviews,
                   visitors       AS unique_visitors,
                   session_count  AS sessions,
                   bounces        AS bounce_rate_part,
                   session_count  AS bounce_rate_whole,
                   median_low_ms  AS median_session_duration_low,
                   median_high_ms AS median_session_duration_high,
                   session_page_views AS pages_per_session_total,
                   session_count  AS pages_per_session_count,
                   event_count    AS total_events
              FROM totals
             CROSS JOIN session_totals
             ORDER BY total_events
        """,
    ),
    QueryType(
        name="events_by_date",
        prepared=TotalsByBucket(_of_bucket),
        description="page views, visitors, sessions, bounce rate and durations of each bucket; "
        "a session counts where it began",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=TrafficByBucket,
        ctes=(BUCKET_ROWS, SESSION_STARTS, RANKED_SESSION_STARTS, BUCKET_SESSIONS),
        sql="""
            SELECT COALESCE(bucket_rows.time_bucket, bucket_sessions.time_bucket) AS result_bucket,
                   COALESCE(page_view_count, 0) AS pageviews,
                   COALESCE(visitor_count, 0) AS visitors,
                   COALESCE(session_count, 0) AS sessions,
                   bounces AS bounce_rate_part,
                   session_count AS bounce_rate_whole,
                   median_low_ms AS median_session_duration_low,
                   median_high_ms AS median_session_duration_high,
                   session_page_views AS pages_per_session_total,
                   session_count AS pages_per_session_count
              FROM bucket_rows
              FULL JOIN bucket_sessions ON bucket_sessions.time_bucket = bucket_rows.time_bucket
             ORDER BY result_bucket
        """,
    ),
    QueryType(
        name="session_metrics",
        prepared=Totals(_session_metrics),
        description="totals of all sessions, and all events, those outside of sessions included",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=SessionMetrics,
        ctes=(SESSIONS, RANKED_SESSIONS, TOTALS, SESSION_TOTALS),
        sql="""
            SELECT session_count     AS total_sessions,
                   total_duration_ms AS avg_session_duration_ms,
                   session_count     AS avg_session_duration_count,
                   bounces           AS bounce_rate_part,
                   session_count     AS bounce_rate_whole,
                   event_count       AS total_events
              FROM totals
             CROSS JOIN session_totals
             ORDER BY total_events
        """,
    ),
)
