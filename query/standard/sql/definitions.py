"""SQL definitions of a session: bounce, duration, median.

A session is a session id with at least one page view, computed from its events inside the time
range. Its duration is the time from its first to its last event, or the visible time that its
pages reported, whichever is greater. It bounced when it has one page view, no other event but the
page exit and events that are no interaction, and a duration under 10 seconds.
"""

from query.scope.session_rows import MERGED_MEASURES, PAGE_VIEWS
from query.sql.row_definitions import ENDS_BOUNCE, PAGE_VIEW
from query.sql.select import Cte

BOUNCE_MS = 10_000

# Over the events of one session:
VIEW_COUNT = f"COUNT(*) FILTER (WHERE {PAGE_VIEW})"
OTHER_COUNT = f"COUNT(*) FILTER (WHERE {ENDS_BOUNCE})"
DURATION_MS = "GREATEST(MAX(ms) - MIN(ms), CAST(COALESCE(SUM(time_on_page), 0) * 1000 AS BIGINT))"

IS_BOUNCE = (
    f"CASE WHEN page_views = 1 AND other_events = 0 AND duration_ms < {BOUNCE_MS} THEN 1 ELSE 0 END"
)
"""Over the columns of one session."""

LOW_RANK = "INT_DIV(row_count + 1, 2)"
HIGH_RANK = "INT_DIV(row_count + 2, 2)"
"""Ranks of the two middle rows; the same one when their number is odd."""
MEDIAN_LOW = f"MAX(CASE WHEN row_rank = {LOW_RANK} THEN duration_ms END)"
MEDIAN_HIGH = f"MAX(CASE WHEN row_rank = {HIGH_RANK} THEN duration_ms END)"
"""The two middle durations of ranked sessions."""


SESSIONS = Cte(
    "session_measures",
    f"""
    SELECT {MERGED_MEASURES}
      FROM session_rows
     GROUP BY session_hash
    HAVING {PAGE_VIEWS} > 0
    """,  # noqa: S608
)

RANKED_SESSIONS = Cte(
    "ranked_sessions",
    f"""
    SELECT page_views,
           duration_ms,
           {IS_BOUNCE}                              AS is_bounce,
           ROW_NUMBER() OVER (ORDER BY duration_ms) AS row_rank,
           COUNT(*) OVER ()                         AS row_count
      FROM session_measures
    """,  # noqa: S608
)
"""Sessions ranked by duration, for an exact median on every engine."""
