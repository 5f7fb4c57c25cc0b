"""Query types of groups of errors against the time before: new, back, worse, steady, better.

A group is `new` if it has no error in the 90 days before the time that is compared with, nor in
that time; `back` if it has one only in these days. It is `worse` or `better` if the difference of
the two counts is more than twice the square root of their sum, which chance alone seldom exceeds,
and `steady` otherwise. The time compared with has as many days, and of a time range that is not
over as much of it as has passed; an error in the rest of it is none of these days.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

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
from query.standard.sql.error_statuses import (
    ALL_OPEN,
    GROUP_STATUS,
    STATUS_JOIN,
    Status,
    status_ctes,
    status_values,
)
from schemas.registry import ErrorStatus, SavedRecords
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
    status: list[Status] | None = None
    """All statuses by default."""

    @property
    def saved_statuses(self) -> Sequence[ErrorStatus]:
        """Those of the website; none until the options are resolved."""
        return ()

    def resolve(self, saved: SavedRecords, path: str) -> Self:  # noqa: ARG002 - of no name
        """The options with the saved statuses of groups."""
        statuses = saved.of(ErrorStatus)
        return ChangesWithStatuses(**structs.asdict(self), statuses=statuses)  # type: ignore[return-value]  # a subclass


class ChangesWithStatuses(ErrorChanges, frozen=True):
    """Options of a website with saved statuses."""

    statuses: Sequence[ErrorStatus] = ()

    @property
    def saved_statuses(self) -> Sequence[ErrorStatus]:
        return self.statuses


class ErrorChange(Struct, frozen=True):
    name: str
    error_type: OptionalText
    filename: OptionalText
    line: OptionalInteger
    state: str
    status: str
    status_id: OptionalText
    since: OptionalDay
    count: int
    previous_count: int
    users: int
    sessions: int
    path: OptionalText
    pages: int
    browser_name: OptionalText
    browsers: int
    release: OptionalText
    releases: int
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


def error_facts(message: str, with_releases: bool) -> Cte:
    """Where, when and to whom the errors of each group happened."""
    release_columns, release_join = "", ""
    if with_releases:
        release_columns = f"MAX(CASE WHEN {IN_RANGE} THEN release_ms END) AS newest_release_ms,"
        release_join = "LEFT JOIN release_times ON seen_release = release"
    return Cte(
        "error_facts",
        f"""
        SELECT {message} AS group_message, error_type, filename, lineno,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN visitor_hash END) AS users,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN session_hash END) AS sessions,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN path END)         AS pages,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN browser_name END) AS browsers,
               COUNT(DISTINCT CASE WHEN {IN_RANGE} THEN release END)      AS releases,
               MIN(website_id)                                            AS first_website,
               MAX(website_id)                                            AS last_website,
               {last_value("path")}                                       AS newest_path,
               {last_value("browser_name")}                               AS newest_browser,
               {last_value("release")}                                    AS newest_release,
               {release_columns}
               MIN(CASE WHEN {IN_RANGE} THEN ms END)                      AS first_seen,
               MAX(ms)                                                    AS last_seen,
               MAX(CASE WHEN ms < $from_ms THEN ms END)                   AS last_before
          FROM scoped
               {release_join}
         GROUP BY {message}, error_type, filename, lineno
        """,  # noqa: S608
    )


def error_states(has_statuses: bool) -> Cte:
    """Groups with an error in the time range, each with its state and its status."""
    return Cte(
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
               {GROUP_STATUS if has_statuses else ALL_OPEN},
               first_day, worse_day, errors, errors_before, users, sessions, newest_path, pages,
               newest_browser, browsers, newest_release, releases,
               first_seen, last_seen, last_before
          FROM error_counts
          JOIN error_facts
            ON {SAME_GROUP}
               {STATUS_JOIN if has_statuses else ""}
        """,  # noqa: S608
    )


def changes_ctes(options: ErrorChanges) -> tuple[Cte, ...]:
    """The relations that `error_states` is made of, and it."""
    message, statuses = options.message, options.saved_statuses
    return (
        *(status_ctes(len(statuses)) if statuses else ()),
        error_days(message),
        BUSIEST_DAYS,
        ERROR_COUNTS,
        error_facts(message, bool(statuses)),
        error_states(bool(statuses)),
    )


def group_condition(options: ErrorChanges) -> str:
    """The WHERE of groups of one state and of some statuses."""
    conditions = []
    if options.state:
        conditions.append("error_state = $error_state")
    if options.status is not None:
        conditions.append("IN_LIST(group_status, $group_statuses)")
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def bound_values(options: ErrorChanges) -> Mapping[str, object]:
    """Values of the condition and of the saved statuses."""
    return {
        **({"error_state": options.state} if options.state else {}),
        **({"group_statuses": options.status} if options.status is not None else {}),
        **status_values(options.saved_statuses),
    }


def changes_statement(options: ErrorChanges) -> Statement:
    """Groups of all states, or of one; those that need attention first."""
    return Statement(
        granularity=Granularity.DAILY,
        read_range=with_history,
        range_values=compared_times,
        values=bound_values(options),
        ctes=changes_ctes(options),
        sql=f"""
            SELECT group_message, group_type, group_file, group_line, error_state,
                   group_status, status_record,
                   CASE WHEN error_state IN ('new', 'back') THEN first_day
                        WHEN error_state = 'worse' THEN worse_day END AS since_day,
                   errors, errors_before AS previous_count, users, sessions, newest_path, pages,
                   newest_browser, browsers, newest_release, releases,
                   first_seen, last_seen, last_before
              FROM error_states
             {group_condition(options)}
             ORDER BY CASE WHEN error_state IN ('steady', 'better') THEN 1 ELSE 0 END,
                      users DESC, errors DESC, group_message, group_type, group_file, group_line
        """,  # noqa: S608
    )


def states_statement(options: ErrorChanges) -> Statement:
    """How many groups are in each state."""
    return Statement(
        granularity=Granularity.DAILY,
        read_range=with_history,
        range_values=compared_times,
        values=bound_values(options),
        ctes=changes_ctes(options),
        sql=f"""
            SELECT error_state,
                   COUNT(*)    AS error_groups,
                   SUM(errors) AS errors
              FROM error_states
             {group_condition(options)}
             GROUP BY error_state
             ORDER BY error_groups DESC, error_state
        """,  # noqa: S608
    )


ERROR_CHANGES = (
    QueryType(
        name="error_changes",
        description="errors of one message, class, file and line: `new`, `back` (after none in "
        "the time before, which has as many days), `worse`, `steady` or `better` than in that "
        "time; those of the first three first. `since` is the first day with one, or with more "
        f"than any day before; of the {HISTORY_DAYS} days before that time only errors tell "
        "whether one is new. `status` is that of a saved error status (`status_id`): `open` "
        "without one, `resolved`, `ignored`, or `came_back` with an error after it was resolved",
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
        options=ErrorChanges,
        sql=states_statement,
    ),
)
