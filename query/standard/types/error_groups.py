"""Query types of single errors, groups of errors and the error rate of sessions."""

from collections.abc import Callable

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import NEWEST_FIRST, PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import (
    Date,
    Instant,
    KeyText,
    OptionalInteger,
    OptionalKeyInteger,
    OptionalText,
    Percent,
)
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.error_messages import ErrorGrouping
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
    release: OptionalText
    properties: OptionalText


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
    error_type: KeyText
    filename: KeyText
    line: OptionalKeyInteger
    stack: OptionalText
    first_seen: Instant
    last_seen: Instant


BY_BUCKET = """
            SELECT bucket,
                   COUNT(*)                     AS errors,
                   COUNT(DISTINCT visitor_hash) AS users
              FROM scoped
             GROUP BY bucket
             ORDER BY bucket
"""


TOTALS = Cte(
    "totals",
    """
    SELECT COUNT(*)                     AS total_errors,
           COUNT(DISTINCT message)      AS unique_messages,
           COUNT(DISTINCT visitor_hash) AS affected_users,
           COUNT(DISTINCT session_hash) AS affected_sessions
      FROM scoped
    """,
)

# A session with an error counts as a session even when its page views never arrived.
SESSION_TOTALS = Cte(
    "session_totals",
    f"""
    SELECT COUNT(*) AS all_sessions
      FROM (
           SELECT session_hash FROM scoped_events WHERE {PAGE_VIEW}
            UNION
           SELECT session_hash FROM scoped
           ) AS session_hashes
     WHERE session_hash IS NOT NULL
    """,  # noqa: S608
)


def groups_statement(options: ErrorGrouping) -> Statement:
    """Groups of errors, each with path and stack of its newest error."""
    ranked = Cte(
        "ranked_errors",
        f"""
        SELECT {options.message} AS group_message, error_type, filename, lineno, path,
               visitor_hash, session_hash, ms,
               SUBSTR(stack, 1, {MAX_STACK_LENGTH}) AS cut_stack,
               ROW_NUMBER() OVER (
                   PARTITION BY {options.message}, error_type, filename, lineno
                       ORDER BY {NEWEST_FIRST}
               ) AS row_rank
          FROM scoped
        """,  # noqa: S608
    )
    return Statement(
        ctes=(ranked,),
        sql="""
            SELECT group_message,
                   COUNT(*)                                       AS errors,
                   COUNT(DISTINCT visitor_hash)                   AS users,
                   COUNT(DISTINCT session_hash)                   AS sessions,
                   MAX(CASE WHEN row_rank = 1 THEN path END)      AS newest_path,
                   error_type,
                   filename,
                   lineno,
                   MAX(CASE WHEN row_rank = 1 THEN cut_stack END) AS newest_stack,
                   MIN(ms)                                        AS first_seen,
                   MAX(ms)                                        AS last_seen
              FROM ranked_errors
             GROUP BY group_message, error_type, filename, lineno
             ORDER BY errors DESC, group_message, error_type, filename, lineno
        """,
    )


def error_query_type(
    name: str,
    description: str,
    row: type[Struct],
    sql: str | Callable[[ErrorGrouping], Statement],
    **fields: object,
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
                   SUBSTR(stack, 1, {MAX_STACK_LENGTH}) AS cut_stack,
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
                   release,
                   properties,
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
                   COUNT(*) AS errors
              FROM scoped
             GROUP BY bucket
             ORDER BY bucket
        """,
    ),
    error_query_type(
        "error_summary",
        "totals of errors; the error rate is the share of sessions with an error, of all of the "
        "time range, also those from before errors were recorded",
        ErrorSummary,
        """
            SELECT total_errors,
                   unique_messages,
                   affected_users,
                   affected_sessions,
                   affected_sessions AS errorRate_part,
                   all_sessions      AS errorRate_whole
              FROM totals
             CROSS JOIN session_totals
             ORDER BY total_errors
        """,
        ctes=(TOTALS, SESSION_TOTALS),
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
        groups_statement,
        options=ErrorGrouping,
        default_limit=20,
    ),
)
