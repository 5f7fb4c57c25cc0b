"""Times of a visitor: when it was first and last seen, of all events ever stored.

They come from the CTE `visitor_times`, which has a row for each visitor of the subject, whatever
the time range and the filters. What the keeper has prepared of a data file
(`schemas/tables/visitors.py`) is read in its place.
"""

from collections.abc import Collection, Mapping, Sequence

from query.request.filters import FilterField
from query.request.time_range import TimeRange
from query.scope.row_scope import Scope
from query.scope.visitor_sets import END_MS, FIRST_MS, VISITOR, all_time
from query.sql.select import Cte, Join
from schemas.tables import ColumnType

FIRST_SEEN = "visitor_first_seen"
LAST_SEEN = "visitor_last_seen"
IS_NEW = "visitor_is_new"
TIME_COLUMNS = (FIRST_SEEN, LAST_SEEN, IS_NEW)
"""Columns of rows: two instants in Unix milliseconds, and whether the first is in the range."""

VISITOR_TIMES = "visitor_times"
VISITOR_EVENTS = "visitor_events"
"""The relation with events that times come from."""
PREPARED_VISITORS = "prepared_visitors"
"""The relation with the times of visitors that were computed from data files."""
VISITOR_JOIN = Join(VISITOR_TIMES, f"{VISITOR_TIMES}.seen_visitor = stored.{VISITOR}")

ROW_COLUMNS: Mapping[str, str] = {
    FIRST_SEEN: f"{VISITOR_TIMES}.{FIRST_SEEN}",
    LAST_SEEN: f"{VISITOR_TIMES}.{LAST_SEEN}",
    IS_NEW: f"CASE WHEN {VISITOR} IS NOT NULL"
    f" THEN COALESCE({VISITOR_TIMES}.{FIRST_SEEN} >= UNIX_MS($start), TRUE) END",
}
"""Their expressions over a row joined with `visitor_times`. A visitor without any event, who has
error reports alone, is new."""

SOURCE_COLUMNS: Mapping[str, Sequence[str]] = {
    VISITOR_EVENTS: (VISITOR, "ms"),
    PREPARED_VISITORS: (VISITOR, "ms", "last_ts"),
}
"""The columns that `visitor_times` reads, by relation."""

FIRST_SEEN_FIELD = "visitor.first_seen"
LAST_SEEN_FIELD = "visitor.last_seen"


def visitor_time_fields() -> Mapping[str, FilterField]:
    """What filters may name of the times of visitors."""
    return {
        FIRST_SEEN_FIELD: FilterField(ColumnType.TIMESTAMP, ROW_COLUMNS[FIRST_SEEN], in_ms=True),
        LAST_SEEN_FIELD: FilterField(ColumnType.TIMESTAMP, ROW_COLUMNS[LAST_SEEN], in_ms=True),
    }


def reads_visitor_times(names: frozenset[str]) -> bool:
    """Whether a relation with these names of columns needs the times of visitors."""
    return not names.isdisjoint(TIME_COLUMNS)


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
               MIN(first_ms) AS {FIRST_SEEN},
               MAX(last_ms) AS {LAST_SEEN}
          FROM ({union}) AS seen
         GROUP BY {VISITOR}
    """  # noqa: S608
    return Cte(VISITOR_TIMES, sql)


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
