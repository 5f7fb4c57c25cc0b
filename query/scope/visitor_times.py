"""The CTE `visitor_times`: a row for each visitor of the subject, from all events ever stored.

Where only `visitor.is_new` is named, it has those before the time range: who is in it is not new.
What the keeper has prepared of a data file (`schemas/tables/visitors.py`) is read in its place.
"""

from collections.abc import Collection, Mapping, Sequence

from query.request.time_range import TimeRange
from query.scope.row_scope import Scope
from query.scope.visitor_facts import FIRST_BUCKET, FIRST_SEEN, IS_NEW, LAST_SEEN, VISITOR_TIMES
from query.scope.visitor_sets import END_MS, FIRST_MS, VISITOR, all_time
from query.sql.select import Cte

VISITOR_EVENTS = "visitor_events"
"""The relation with events that times come from."""
PREPARED_VISITORS = "prepared_visitors"
"""The relation with the times of visitors that were computed from data files."""
NEW_FROM = "new_from"
"""The bound value with the start of the time range of the query."""

SOURCE_COLUMNS: Mapping[str, Sequence[str]] = {
    VISITOR_EVENTS: (VISITOR, "ms"),
    PREPARED_VISITORS: (VISITOR, "ms", "last_ts"),
}
"""The columns that `visitor_times` reads, by relation."""


def visitor_times_cte(relations: Collection[str]) -> Cte:
    """The CTE with a row for each visitor, from events and prepared visitors."""
    last = {VISITOR_EVENTS: "ms", PREPARED_VISITORS: "UNIX_MS(last_ts)"}
    union = " UNION ALL ".join(
        f"SELECT {VISITOR}, ms AS first_ms, {last_ms} AS last_ms FROM {name}"  # noqa: S608
        for name, last_ms in last.items()
        if name in relations
    )
    sql = f"""
        SELECT {VISITOR} AS seen_visitor,
               MIN(first_ms) AS {FIRST_SEEN.column},
               MAX(last_ms) AS {LAST_SEEN.column},
               MIN(first_ms) >= ${NEW_FROM} AS {IS_NEW.column}
          FROM ({union}) AS seen
         GROUP BY {VISITOR}
    """  # noqa: S608
    return Cte(VISITOR_TIMES, sql)


def visitor_times_values(scope: Scope) -> Mapping[str, object]:
    """The bound values of the CTE: new are visitors since the start of the query's time range."""
    return {NEW_FROM: _asked_range(scope).start_ms}


def times_range(scope: Scope, names: frozenset[str]) -> TimeRange:
    """The time range of the events that the named facts of visitors come from."""
    ever = all_time(scope.time_range.zone)
    if names.isdisjoint((FIRST_SEEN.column, LAST_SEEN.column, FIRST_BUCKET)):
        return TimeRange(FIRST_MS, max(_asked_range(scope).start_ms, FIRST_MS), ever.zone)
    return ever


def _asked_range(scope: Scope) -> TimeRange:
    """The time range of the query, also where rows are read of less."""
    return scope.asked_range or scope.fact_range or scope.time_range


def seen_range(scope: Scope) -> TimeRange:
    """A time range that contains all times of visitors: that of the data files of events."""
    ever = all_time(scope.time_range.zone)
    if scope.events is None:
        return ever
    files = scope.events.data_files(scope.subjects, FIRST_MS, END_MS)
    ranges = [data_file.ts_range for data_file in files]
    known = [each for each in ranges if each is not None]
    if not known or len(known) < len(ranges):
        return ever
    start, end = min(low for low, _ in known), max(high for _, high in known)
    return TimeRange(max(start, FIRST_MS), end + 1, ever.zone)
