"""retention: cohorts of visitors by their first day, week or month, and how many returned later.

A cohort is of visitors whose first event ever is in it, or by an option their first in the range:
any, or the first one that meets a step. Who returns has any event, or one that meets a step. Events
count from the one that began the cohort on, itself included.

With a breakdown each visitor belongs to one group, by the value of the first row.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Literal, Self

from msgspec import UNSET, Struct, structs

from query.engine.engine import Row
from query.prepared.cohorts import Cohorts, CohortsOfNew
from query.request.buckets import Granularity
from query.request.query import MAX_ROWS
from query.request.subject import SubjectKind
from query.request.time_range import SeriesPoint, TimeRange
from query.request.time_zones import DAY_MS, to_unix_ms
from query.scope.visitor_facts import FIRST_BUCKET, IS_NEW
from query.sql.fragment import Fragment, merge_values
from query.sql.row_definitions import ROW_ORDER_NUMBER
from query.sql.select import Cte
from query.standard.declaration.fields import Date, Group, KeyInteger, Other, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.result_check import DAILY_IDS
from query.standard.declaration.statement import Statement
from query.standard.sql.breakdown import (
    GROUP_COLUMNS,
    GROUP_CTES,
    JOIN_GROUPS,
    NO_GROUP_COLUMNS,
    Breakdown,
    BreakdownOptions,
    absent_fields,
    parse_breakdown,
)
from query.standard.sql.steps import Step, resolve_step, step_condition
from schemas.errors import Malformed
from schemas.registry import SavedRecords
from schemas.tables import EVENTS

MAX_COHORTS = 100
WIDTHS = {
    "day": Granularity.DAILY,
    "week": Granularity.WEEKLY,
    "month": Granularity.MONTHLY,
}
BEYOND_MS = 40 * DAY_MS
"""Wider than any bucket."""
NOBODY = (0, 0)


class Retention(BreakdownOptions, frozen=True):
    """Options of the request."""

    period: Literal["day", "week", "month"] = "week"
    cohort: Literal["first_ever", "first_in_range"] = "first_ever"
    """Which event begins a cohort: the first one ever, or the first one in the time range."""
    start: Step | None = None
    """What the first event in the time range has to meet; None for any event."""
    returning: Step | None = None
    """What events have to meet to count as a return; None for any event."""

    def resolve(self, saved: SavedRecords, path: str) -> Self:
        """The options with saved goals and segments in place of their names."""
        steps = {
            name: resolve_step(step, saved, f"{path}.{name}")
            for name, step in (("start", self.start), ("returning", self.returning))
            if step is not None
        }
        return structs.replace(self, **steps)


class RetentionCell(Struct, frozen=True):
    date: Date
    period: KeyInteger
    visitors: int
    returned: int
    rate: Percent
    complete: bool
    breakdown: Group = UNSET
    other: Other = UNSET


class CohortConditions(Struct, frozen=True):
    """The conditions on rows that begin a cohort, and on those of who returned."""

    start: Fragment | None
    returning: Fragment

    @property
    def values(self) -> dict[str, object]:
        """The bound values of both."""
        return merge_values(self.start.values if self.start else {}, self.returning.values)

    @property
    def since_start(self) -> str:
        """The condition on a row joined with `first_seen` that it does not come before the start.

        Every row of a visitor does where a cohort begins with any row.
        """
        return f"{ROW_ORDER_NUMBER} >= start_row" if self.start else "1 = 1"


def cohort_conditions(options: Retention) -> CohortConditions:
    """The conditions of the options; Malformed for a start that need not be in the time range."""
    if options.start is not None and options.cohort == "first_ever":
        raise Malformed(
            "'start' needs 'cohort': 'first_in_range'; cohorts of 'first_ever' begin with the "
            "first event ever, whichever it is, as events before the time range are not read"
        )
    start, returning = (
        step_condition(step, name, f"cohort_{name}") if step else None
        for name, step in (("start", options.start), ("returning", options.returning))
    )
    return CohortConditions(start, returning or Fragment("1 = 1"))


def first_seen(
    options: Retention, conditions: CohortConditions, breakdown: Breakdown | None
) -> Cte:
    """The cohort of each visitor, and the value of the row that begins it.

    By the first event ever, visitors without a row in its bucket that meets the filters are in no
    cohort, and neither is who was there before the time range.
    """
    value = f", {breakdown.of_first_row} AS breakdown_value" if breakdown else ""
    begins_cohort = f"AND {IS_NEW.column}" if options.cohort == "first_ever" else ""
    in_bucket = f"HAVING MIN(bucket) = MIN({FIRST_BUCKET})" if begins_cohort else ""
    if conditions.start:
        value += f", MIN({ROW_ORDER_NUMBER}) AS start_row"
        begins_cohort = f"AND {conditions.start.text}"
    return Cte(
        "first_seen",
        f"""
        SELECT visitor_hash AS cohort_visitor, MIN(bucket) AS cohort{value}
          FROM scoped
         WHERE visitor_hash IS NOT NULL
               {begins_cohort}
         GROUP BY visitor_hash
        {in_bucket}
        """,  # noqa: S608
    )


VALUE_SIZES = Cte(
    "value_sizes",
    """
    SELECT breakdown_value, COUNT(*) AS value_size
      FROM first_seen
     GROUP BY breakdown_value
    """,
)


def retention_statement(options: Retention) -> Statement:
    """Visitors by group, by cohort and by each bucket in which they have events."""
    breakdown = parse_breakdown(options)
    conditions = cohort_conditions(options)
    returns = f"CASE WHEN {conditions.returning.text} THEN visitor_hash END"
    returned = f", COUNT(DISTINCT {returns}) AS returned" if options.returning else ""
    return Statement(
        granularity=WIDTHS[options.period],
        rows_in_python=partial(retention_rows, options.period, breakdown),
        ctes=(
            first_seen(options, conditions, breakdown),
            *((VALUE_SIZES, *GROUP_CTES) if breakdown else ()),
        ),
        values=merge_values(conditions.values, breakdown.values if breakdown else {}),
        absent=absent_fields(breakdown),
        sql=f"""
            SELECT {GROUP_COLUMNS if breakdown else NO_GROUP_COLUMNS},
                   cohort, bucket,
                   COUNT(DISTINCT visitor_hash) AS visitors{returned}
              FROM scoped
              JOIN first_seen
                ON cohort_visitor = visitor_hash
               {"AND " + conditions.since_start if options.start else ""}
              {JOIN_GROUPS if breakdown else ""}
             GROUP BY cohort, bucket{", group_rank" if breakdown else ""}
             ORDER BY group_rank, cohort, bucket
        """,  # noqa: S608
    )


def prepared_cohorts(options: Retention) -> Cohorts | CohortsOfNew | None:
    """The cohorts from rollups; these have no groups and no events of steps."""
    if options.breakdown or options.start or options.returning:
        return None
    of_all = options.cohort == "first_in_range"
    return Cohorts(MAX_COHORTS) if of_all else CohortsOfNew(MAX_COHORTS)


def retention_rows(
    period: str,
    breakdown: Breakdown | None,
    rows: Sequence[Row],
    time_range: TimeRange,
    now_ms: int,
    *__: object,
) -> Sequence[Row]:
    """A row for each group, each cohort and each period after it.

    A period that is not over is incomplete.
    """
    width = WIDTHS[period]
    points = time_range.points(width)
    if len(points) > MAX_COHORTS:
        raise Malformed(
            f"'period' {period} makes {len(points)} cohorts in this time range; "
            f"at most {MAX_COHORTS} are allowed"
        )
    groups = {row[0]: (row[1], row[2]) for row in rows}
    if breakdown is None:
        groups = {1: (None, 0)}
    _check_size(len(points), len(groups))
    ends = _ends(time_range, width, points)
    known_until_ms = min(time_range.end_ms, now_ms)
    visitors = {(row[0], row[3], row[4]): (row[5], row[-1]) for row in rows}
    cells: list[Row] = []
    for rank, group in groups.items():
        for first, cohort in enumerate(points):
            size, _ = visitors.get((rank, cohort.bucket, cohort.bucket), NOBODY)
            for later, point in enumerate(points[first:]):
                _, returned = visitors.get((rank, cohort.bucket, point.bucket), NOBODY)
                complete = ends[first + later] <= known_until_ms
                cells.append(
                    (cohort.label, later, size, returned, returned, size, complete, *group)
                )
    return cells


def _check_size(cohorts: int, groups: int) -> None:
    cells = groups * cohorts * (cohorts + 1) // 2
    if cells > MAX_ROWS:
        raise Malformed(
            f"{groups} groups of {cohorts} cohorts make {cells:,} rows; at most {MAX_ROWS:,} are "
            "allowed; use a longer 'period', a shorter time range or a lower 'breakdown_limit'"
        )


def _ends(time_range: TimeRange, width: Granularity, points: Sequence[SeriesPoint]) -> list[int]:
    """The end of each bucket, which may lie after the time range."""
    longer = structs.replace(time_range, end_ms=time_range.end_ms + BEYOND_MS).points(width)
    begins = [datetime.fromisoformat(point.label) for point in longer]
    return [to_unix_ms(begins[i + 1], time_range.zone) for i in range(len(points))]


RETENTION = (
    QueryType(
        name="retention",
        description="cohorts of new visitors by the first event ever, and how many returned later",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=RetentionCell,
        default_limit=10_000,
        options=Retention,
        sql=retention_statement,
        prepared=prepared_cohorts,
        checks=(DAILY_IDS,),
    ),
)
