"""SQL definitions: page view, custom event, session, bounce, duration, row order.

A session is a session id with at least one page view, computed from its events inside the time
range. Its duration is the time from its first to its last event, or the visible time that its
pages reported, whichever is greater. It bounced when it has one page view, no other event but the
page exit, and a duration under 10 seconds.
"""

from query.sql.select import Cte

PAGE_VIEW = "name IN ('screen_view', 'pageview')"
PAGE_EXIT = "page_exit"
IS_OUTBOUND = "outbound_domain IS NOT NULL"
IS_CUSTOM = f"NOT {PAGE_VIEW} AND name <> '{PAGE_EXIT}' AND outbound_domain IS NULL"
"""A custom event: neither a page view, nor a page exit, nor an outbound click."""
ROW_ORDER = "ms, epoch, kafka_partition, kafka_offset, seq"
"""The total order of rows."""
NEWEST_FIRST = ", ".join(f"{part} DESC" for part in ROW_ORDER.split(", "))
ROW_POSITION = (
    "(((CAST(ms * 256 + epoch % 256 AS INT128) * 65536 + kafka_partition) * 1099511627776"
    " + kafka_offset) * 1048576 + seq)"
)
"""The row order as one number: 42 bits of time, then 8, 16, 40 and 20 of the row's identity."""
BOUNCE_MS = 10_000

# Over the rows of one session:
VIEW_COUNT = f"COUNT(*) FILTER (WHERE {PAGE_VIEW})"
OTHER_COUNT = f"COUNT(*) FILTER (WHERE NOT {PAGE_VIEW} AND name <> '{PAGE_EXIT}')"
DURATION_MS = "GREATEST(MAX(ms) - MIN(ms), CAST(COALESCE(SUM(time_on_page), 0) * 1000 AS BIGINT))"

IS_BOUNCE = f"CASE WHEN views = 1 AND others = 0 AND lasted < {BOUNCE_MS} THEN 1 ELSE 0 END"
"""Over the columns of one session."""

LOW_RANK = "INT_DIV(row_count + 1, 2)"
HIGH_RANK = "INT_DIV(row_count + 2, 2)"
"""Ranks of the two middle rows; the same one when their number is odd."""
MEDIAN_LOW = f"MAX(CASE WHEN row_rank = {LOW_RANK} THEN lasted END)"
MEDIAN_HIGH = f"MAX(CASE WHEN row_rank = {HIGH_RANK} THEN lasted END)"
"""The two middle durations of ranked sessions."""


def first_value(value: str) -> str:
    """The value, NULL or not, of the first row of a group.

    One pass that keeps a value per group: a quarter of the time of a window function, which does
    not fit into memory at millions of rows.
    """
    return f"FIRST_BY({value}, {ROW_POSITION})"


def last_value(value: str) -> str:
    """The value, NULL or not, of the last row of a group."""
    return f"LAST_BY({value}, {ROW_POSITION})"


SESSIONS = Cte(
    "visits",
    f"""
    SELECT {VIEW_COUNT}  AS views,
           {OTHER_COUNT} AS others,
           {DURATION_MS} AS lasted
      FROM scoped
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    HAVING {VIEW_COUNT} > 0
    """,  # noqa: S608
)

RANKED_SESSIONS = Cte(
    "ranked",
    f"""
    SELECT lasted,
           {IS_BOUNCE} AS bounced,
           ROW_NUMBER() OVER (ORDER BY lasted) AS row_rank,
           COUNT(*) OVER ()                    AS row_count
      FROM visits
    """,  # noqa: S608
)
"""Sessions ranked by duration, for an exact median on every engine."""
