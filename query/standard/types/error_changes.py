"""Query types of groups of errors against the time before: new, back, worse, steady, better.

A group is `new` if it has no error in the 90 days before the time that is compared with, nor in
that time; `back` if it has one only in these days. It is `worse` or `better` if the difference of
the two counts is more than twice the square root of their sum, which chance alone seldom exceeds,
and `steady` otherwise. The time compared with has as many days, and of a time range that is not
over as much of it as has passed; an error in the rest of it is none of these days.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import Struct, structs

from query.request.buckets import Granularity
from query.request.comparison_range import period_before
from query.request.subject import SubjectKind
from query.request.time_range import TimeRange
from query.request.time_zones import DAY_MS
from query.scope.visitor_sets import FIRST_MS
from query.sql.row_definitions import last_value
from query.sql.select import Cte
from query.standard.declaration.fields import FieldSpec, Instant, OptionalInteger, OptionalText
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.error_messages import ErrorGrouping
from schemas.tables import ERRORS as STORED

HISTORY_DAYS = 90
GROUP = ("group_message", "error_type", "filename", "lineno")
COLUMNS = ", ".join(GROUP)
SAME_GROUP = " AND ".join(
    f"error_facts.{name} IS NOT DISTINCT FROM error_counts.{name}" for name in GROUP
)
IN_RANGE = "ms >= $from_ms"


def day_text(day_ms: int | None) -> str | None:
    """The day of a number of a bucket."""
    return None if day_ms is None else datetime.fromtimestamp(day_ms / 1000, UTC).date().isoformat()


State = Literal["new", "back", "worse", "steady", "better"]
OptionalDay = Annotated[str | None, FieldSpec(("",), day_text, "date")]


class ErrorChanges(ErrorGrouping, frozen=True):
    """Options of the request."""

    state: State | None = None


class ErrorChange(Struct, frozen=True):
    name: str
    error_type: OptionalText
    filename: OptionalText
    line: OptionalInteger
    state: str
    since: OptionalDay
    count: int
    previous_count: int
    users: int
    sessions: int
    path: OptionalText
    pages: int
    browser_name: OptionalText
    browsers: int
    first_seen: Instant
    last_seen: Instant
    last_before: Instant


class ErrorState(Struct, frozen=True):
    state: str
    groups: int
    errors: int


def with_history(time_range: TimeRange) -> TimeRange:
    """The time range, as much before it, and the days that tell whether a group is new."""
    start_ms = period_before(time_range.start_ms, time_range) - HISTORY_DAYS * DAY_MS
    return structs.replace(time_range, start_ms=max(FIRST_MS, start_ms))


def compared_times(time_range: TimeRange, now_ms: int) -> Mapping[str, object]:
    """Where the time range begins, and the time that it is compared with."""
    start_ms, end_ms = time_range.start_ms, time_range.end_ms
    passed_ms = min(max(now_ms, start_ms), end_ms)
    return {
        "from_ms": start_ms,
        "before_from_ms": period_before(start_ms, time_range),
        "before_until_ms": min(period_before(passed_ms, time_range), start_ms),
    }


def error_days(message: str) -> Cte:
    """Errors of each group and day; `message` is SQL of what the messages of a group share."""
    return Cte(
        "error_days",
        f"""
        SELECT {message} AS group_message, error_type, filename, lineno,
               bucket AS error_day,
               COUNT(CASE WHEN {IN_RANGE} THEN 1 END) AS day_errors,
               COUNT(CASE WHEN ms >= $before_from_ms AND ms < $before_until_ms THEN 1 END)
                   AS day_errors_before
          FROM scoped
         GROUP BY {message}, error_type, filename, lineno, bucket
        """,  # noqa: S608
    )


BUSIEST_DAYS = Cte(
    "busiest_days",
    f"""
    SELECT {COLUMNS}, error_day, day_errors, day_errors_before,
           MAX(day_errors_before) OVER (PARTITION BY {COLUMNS}) AS most_before
      FROM error_days
    """,  # noqa: S608
)

ERROR_COUNTS = Cte(
    "error_counts",
    f"""
    SELECT {COLUMNS},
           SUM(day_errors)                                          AS errors,
           SUM(day_errors_before)                                   AS errors_before,
           MIN(CASE WHEN day_errors > 0 THEN error_day END)           AS first_day,
           MIN(CASE WHEN day_errors > most_before THEN error_day END) AS worse_day
      FROM busiest_days
     GROUP BY {COLUMNS}
    HAVING SUM(day_errors) > 0
    """,  # noqa: S608
)


def error_facts(message: str) -> Cte:
    """Where, when and to whom the errors of each group happened."""
    return Cte(
        "error_facts",
        f"""
        SELECT {message} AS group_message, error_type, filename, lineno,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN visitor_hash END) AS users,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN session_hash END) AS sessions,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN path END)         AS pages,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN browser_name END) AS browsers,
               {last_value("path")}                                       AS newest_path,
               {last_value("browser_name")}                               AS newest_browser,
               MIN(CASE WHEN {IN_RANGE} THEN ms END)                      AS first_seen,
               MAX(ms)                                                    AS last_seen,
               MAX(CASE WHEN ms < $from_ms THEN ms END)                   AS last_before
          FROM scoped
         GROUP BY {message}, error_type, filename, lineno
        """,  # noqa: S608
    )


ERROR_STATES = Cte(
    "error_states",
    f"""
    SELECT error_counts.group_message, error_counts.error_type AS group_type,
           error_counts.filename AS group_file, error_counts.lineno AS group_line,
           CASE WHEN last_before IS NULL THEN 'new'
                WHEN last_before < $before_from_ms THEN 'back'
                WHEN (errors - errors_before) * (errors - errors_before)
                     <= 4 * (errors + errors_before) THEN 'steady'
                WHEN errors > errors_before THEN 'worse'
                ELSE 'better' END AS error_state,
           first_day, worse_day, errors, errors_before, users, sessions, newest_path, pages,
           newest_browser, browsers, first_seen, last_seen, last_before
      FROM error_counts
      JOIN error_facts
        ON {SAME_GROUP}
    """,  # noqa: S608
)


def changes_ctes(options: ErrorGrouping) -> tuple[Cte, ...]:
    """The relations that `error_states` is made of, and it."""
    message = options.message
    return (error_days(message), BUSIEST_DAYS, ERROR_COUNTS, error_facts(message), ERROR_STATES)


def changes_statement(options: ErrorChanges) -> Statement:
    """Groups of all states, or of one; those that need attention first."""
    only = "WHERE error_state = $error_state" if options.state else ""
    return Statement(
        granularity=Granularity.DAILY,
        read_range=with_history,
        range_values=compared_times,
        values={"error_state": options.state} if options.state else {},
        ctes=changes_ctes(options),
        sql=f"""
            SELECT group_message, group_type, group_file, group_line, error_state,
                   CASE WHEN error_state IN ('new', 'back') THEN first_day
                        WHEN error_state = 'worse' THEN worse_day END AS since_day,
                   errors, errors_before AS previous_count, users, sessions, newest_path, pages,
                   newest_browser, browsers, first_seen, last_seen, last_before
              FROM error_states
             {only}
             ORDER BY CASE WHEN error_state IN ('steady', 'better') THEN 1 ELSE 0 END,
                      users DESC, errors DESC, group_message, group_type, group_file, group_line
        """,  # noqa: S608
    )


def states_statement(options: ErrorGrouping) -> Statement:
    """How many groups are in each state."""
    return Statement(
        granularity=Granularity.DAILY,
        read_range=with_history,
        range_values=compared_times,
        ctes=changes_ctes(options),
        sql="""
            SELECT error_state,
                   COUNT(*)    AS error_groups,
                   SUM(errors) AS errors
              FROM error_states
             GROUP BY error_state
             ORDER BY error_groups DESC, error_state
        """,
    )


ERROR_CHANGES = (
    QueryType(
        name="error_changes",
        description="errors of one message, class, file and line: `new`, `back` (after none in "
        "the time before, which has as many days), `worse`, `steady` or `better` than in that "
        "time; those of the first three first. `since` is the first day with one, or with more "
        f"than any day before; of the {HISTORY_DAYS} days before that time only errors tell "
        "whether one is new",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorChange,
        default_limit=20,
        options=ErrorChanges,
        sql=changes_statement,
    ),
    QueryType(
        name="error_states",
        description="how many groups of errors are in each state of error_changes, and their "
        "errors",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorState,
        options=ErrorGrouping,
        sql=states_statement,
    ),
)
