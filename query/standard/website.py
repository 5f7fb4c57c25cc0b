"""Questions about a website as a whole: its totals, and their course in time."""

from msgspec import Struct

from query.standard.forms import MedianSeconds, Percent
from query.standard.sessions import PAGE_VIEW, RANKED, VISITS
from query.standard.spec import Cte, QueryType, Subject
from schemas.tables import EVENTS


class Summary(Struct, frozen=True):
    pageviews: int
    unique_visitors: int
    sessions: int
    bounce_rate: Percent
    median_session_duration: MedianSeconds
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
    """
    SELECT COUNT(*)                                              AS held,
           SUM(bounced)                                          AS bounces,
           MAX(CASE WHEN place = (places + 1) // 2 THEN lasted END) AS low,
           MAX(CASE WHEN place = (places + 2) // 2 THEN lasted END) AS high
      FROM ranked
    """,
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
)
