"""Sessions as they follow from the events of the span: the one definition that all questions share.

A session is a session id with at least one page view. It is seen with its events inside the span.
Its duration is the time from its first to its last event, or the visible time that its pages
reported, whichever is greater. It bounced when it has one page view, nothing else but its exit, and
a duration under 10 seconds.
"""

from query.standard.declaration.query_type import Cte

PAGE_VIEW = "name IN ('screen_view', 'pageview')"
EXIT = "page_exit"
ORDER = "ms, epoch, kafka_partition, kafka_offset, seq"
"""The total order of rows."""
NEWEST = ", ".join(f"{part} DESC" for part in ORDER.split(", "))
POSITION = (
    "(((CAST(ms * 256 + epoch % 256 AS HUGEINT) * 65536 + kafka_partition) * 1099511627776"
    " + kafka_offset) * 1048576 + seq)"
)
"""The same as one number: 42 bits of time; 8, 16, 40 and 20 of the row's identity."""
BOUNCE_MS = 10_000

# Over the rows of one session:
VIEWS = f"COUNT(*) FILTER (WHERE {PAGE_VIEW})"
OTHERS = f"COUNT(*) FILTER (WHERE NOT {PAGE_VIEW} AND name <> '{EXIT}')"
LASTED = "GREATEST(MAX(ms) - MIN(ms), CAST(COALESCE(SUM(time_on_page), 0) * 1000 AS BIGINT))"

BOUNCED = f"CASE WHEN views = 1 AND others = 0 AND lasted < {BOUNCE_MS} THEN 1 ELSE 0 END"
"""Over one visit."""

LOW = "MAX(CASE WHEN place = (places + 1) // 2 THEN lasted END)"
HIGH = "MAX(CASE WHEN place = (places + 2) // 2 THEN lasted END)"
"""The two middle durations of ranked visits: one and the same when their number is odd."""


def earliest(value: str, aggregate: str = "ARG_MIN_NULL") -> str:
    """The value, NULL or not, of the first row of a group.

    One pass that keeps a value per group: a quarter of the time of ranking all rows in a window,
    which at millions of rows no longer fits into memory. Other engines say MIN_BY.
    """
    return f"{aggregate}({value}, {POSITION})"


def latest(value: str) -> str:
    """The value, NULL or not, of the last row of a group."""
    return earliest(value, "ARG_MAX_NULL")


VISITS = Cte(
    "visits",
    f"""
    SELECT {VIEWS}  AS views,
           {OTHERS} AS others,
           {LASTED} AS lasted
      FROM scoped
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    HAVING {VIEWS} > 0
    """,  # noqa: S608
)

RANKED = Cte(
    "ranked",
    f"""
    SELECT lasted,
           {BOUNCED} AS bounced,
           ROW_NUMBER() OVER (ORDER BY lasted) AS place,
           COUNT(*) OVER ()                    AS places
      FROM visits
    """,  # noqa: S608
)
"""Visits in the order of their duration, for the median: exact on every engine."""
