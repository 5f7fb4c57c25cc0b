"""Query types of single errors, groups of errors and the error rate of sessions."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import NEWEST_FIRST, PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Date, Instant, OptionalInteger, OptionalText, Percent
from query.standard.declaration.query_type import QueryType
from schemas.tables import ERRORS as STORED

MAX_STACK_LENGTH = 1_500


class RecentError(Struct, frozen=True):
    message: str
    stack: OptionalText
    path: OptionalText
    anonymous_id: OptionalText
    session_id: OptionalText
    timestamp: Instant
    filename: OptionalText
    lineno: OptionalInteger
    colno: OptionalInteger
    error_type: OptionalText
    browser_name: OptionalText
    browser_version: OptionalText
    os_name: OptionalText
    os_version: OptionalText
    device_type: OptionalText
    country: OptionalText
    region: OptionalText


class ErrorCount(Struct, frozen=True):
    date: Date
    count: int


class ErrorSummary(Struct, frozen=True):
    totalErrors: int  # noqa: N815 - their name
    uniqueErrorTypes: int  # noqa: N815 - their name
    affectedUsers: int  # noqa: N815 - their name
    affectedSessions: int  # noqa: N815 - their name
    errorRate: Percent  # noqa: N815 - their name


class ErrorChart(Struct, frozen=True):
    date: Date
    totalErrors: int  # noqa: N815 - their name
    affectedUsers: int  # noqa: N815 - their name


class ErrorGroup(Struct, frozen=True):
    name: str
    count: int
    users: int
    sessions: int
    path: OptionalText
    error_type: OptionalText
    filename: OptionalText
    line: OptionalInteger
    stack: OptionalText
    first_seen: Instant
    last_seen: Instant


BY_BUCKET = """
            SELECT bucket,
                   COUNT(*)                     AS happened,
                   COUNT(DISTINCT visitor_hash) AS users
              FROM scoped
             GROUP BY bucket
             ORDER BY bucket
"""


NUMBERED = Cte(
    "numbered",
    f"""
    SELECT message, error_type, filename, lineno, path, visitor_hash, session_hash, ms,
           SUBSTR(stack, 1, {MAX_STACK_LENGTH}) AS traced,
           ROW_NUMBER() OVER (
               PARTITION BY message, error_type, filename, lineno ORDER BY {NEWEST_FIRST}
           ) AS row_rank
      FROM scoped
    """,  # noqa: S608
)

TOTALS = Cte(
    "totals",
    """
    SELECT COUNT(*)                     AS happened,
           COUNT(DISTINCT message)      AS kinds,
           COUNT(DISTINCT visitor_hash) AS users,
           COUNT(DISTINCT session_hash) AS visits
      FROM scoped
    """,
)

# A session with an error counts as a session even when its page views never arrived.
VISITED = Cte(
    "visited",
    f"""
    SELECT COUNT(*) AS session_total
      FROM (
           SELECT session_hash FROM scoped_events WHERE {PAGE_VIEW}
            UNION
           SELECT session_hash FROM scoped
           ) AS either
     WHERE session_hash IS NOT NULL
    """,  # noqa: S608
)


def error_query_type(
    name: str, description: str, row: type[Struct], sql: str, **fields: object
) -> QueryType:
    """A query type over the errors table."""
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=row,
        sql=sql,
        **fields,  # type: ignore[arg-type]  # the other fields of a type, as they are
    )


ERROR_GROUPS = (
    error_query_type(
        "recent_errors",
        "single errors, newest first; the stack is cut at 1,500 characters",
        RecentError,
        f"""
            SELECT message,
                   SUBSTR(stack, 1, {MAX_STACK_LENGTH}) AS traced,
                   path,
                   anonymous_id,
                   session_id,
                   ms,
                   filename,
                   lineno,
                   colno,
                   error_type,
                   browser_name,
                   browser_version,
                   os_name,
                   os_version,
                   device_type,
                   country,
                   region,
                   epoch,
                   kafka_partition,
                   kafka_offset,
                   seq
              FROM scoped
             ORDER BY {NEWEST_FIRST}
        """,  # noqa: S608
        default_limit=50,
    ),
    error_query_type(
        "error_frequency",
        "errors of each bucket",
        ErrorCount,
        """
            SELECT bucket,
                   COUNT(*) AS happened
              FROM scoped
             GROUP BY bucket
             ORDER BY bucket
        """,
    ),
    error_query_type(
        "error_summary",
        "totals of errors; the error rate is the share of sessions with an error",
        ErrorSummary,
        """
            SELECT happened,
                   kinds,
                   users,
                   visits,
                   visits        AS errorRate_part,
                   session_total AS errorRate_whole
              FROM totals
             CROSS JOIN visited
             ORDER BY happened
        """,
        ctes=(TOTALS, VISITED),
    ),
    error_query_type(
        "error_chart_data",
        "errors and affected visitors of each bucket",
        ErrorChart,
        BY_BUCKET,
    ),
    error_query_type(
        "error_fingerprints",
        "errors of one message, class, file and line, with a sample of the newest",
        ErrorGroup,
        """
            SELECT message,
                   COUNT(*)                                 AS happened,
                   COUNT(DISTINCT visitor_hash)             AS users,
                   COUNT(DISTINCT session_hash)             AS visits,
                   MAX(CASE WHEN row_rank = 1 THEN path END)   AS place_seen,
                   error_type,
                   filename,
                   lineno,
                   MAX(CASE WHEN row_rank = 1 THEN traced END) AS sample,
                   MIN(ms)                                  AS first_seen,
                   MAX(ms)                                  AS last_seen
              FROM numbered
             GROUP BY message, error_type, filename, lineno
             ORDER BY happened DESC, message, error_type, filename, lineno
        """,
        ctes=(NUMBERED,),
        default_limit=20,
    ),
)
