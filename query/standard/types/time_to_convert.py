"""time_to_convert: how long after their first event ever visitors reached a goal.

Of each visitor the first conversion in the time range counts. Filters choose the conversions; the
first event is that of all which are stored.
"""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct, structs

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.request.time_zones import DAY_MS
from query.scope.visitor_facts import FIRST_SEEN
from query.sql.select import Cte
from query.standard.declaration.fields import (
    KeyInteger,
    OptionalKeyInteger,
    OptionalMedianSeconds,
    Percent,
)
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.result_check import DAILY_IDS
from query.standard.declaration.statement import Statement
from query.standard.sql.definitions import HIGH_RANK, LOW_RANK
from query.standard.sql.number_ranges import number_ranges, range_index
from query.standard.sql.steps import Step, resolve_step, step_condition
from schemas.registry import SavedRecords
from schemas.tables import EVENTS

RANGES = number_ranges(0, 1, 2, 3, 4, 8, 15, 31, 61, 91)
"""Of whole days: 24 hours each, whatever the time zone."""
RANGE_INDEX = range_index(f"INT_DIV(elapsed_ms, {DAY_MS})", RANGES)


class TimeToConvert(QueryOptions, frozen=True):
    """Options of the request."""

    goal: Step

    @classmethod
    def example(cls) -> "TimeToConvert":
        """An event."""
        return cls(Step(event="n0"))

    def resolve(self, saved: SavedRecords, path: str) -> Self:
        """The options with saved goals and segments in place of their names."""
        return structs.replace(self, goal=resolve_step(self.goal, saved, f"{path}.goal"))


class ConversionDelay(Struct, frozen=True):
    days: str
    from_days: KeyInteger
    to_days: OptionalKeyInteger
    visitors: int
    percentage: Percent
    overall_median_seconds: OptionalMedianSeconds


def time_to_convert_statement(options: TimeToConvert) -> Statement:
    """How many visitors are in each range, and the two middle times in the ranges with them."""
    goal = step_condition(options.goal, "goal", "goal")
    return Statement(
        ctes=(
            Cte(
                "converted_visitors",
                f"""
                SELECT MIN(ms) - MIN({FIRST_SEEN.column}) AS elapsed_ms
                  FROM scoped
                 WHERE visitor_hash IS NOT NULL
                   AND {goal.text}
                 GROUP BY visitor_hash
                """,  # noqa: S608
            ),
            Cte(
                "ranked_visitors",
                """
                SELECT elapsed_ms,
                       ROW_NUMBER() OVER (ORDER BY elapsed_ms) AS row_rank,
                       COUNT(*) OVER ()                        AS row_count
                  FROM converted_visitors
                """,
            ),
        ),
        sql=f"""
            SELECT {RANGE_INDEX}                                             AS range_index,
                   COUNT(*)                                                  AS visitors,
                   MAX(CASE WHEN row_rank = {LOW_RANK} THEN elapsed_ms END)  AS median_low_ms,
                   MAX(CASE WHEN row_rank = {HIGH_RANK} THEN elapsed_ms END) AS median_high_ms
              FROM ranked_visitors
             GROUP BY {RANGE_INDEX}
             ORDER BY range_index
        """,  # noqa: S608
        values=goal.values,
        rows_in_python=delay_rows,
    )


def delay_rows(rows: Sequence[Row], *_: object) -> Sequence[Row]:
    """A row for each range, zeros where there is no visitor; each with the median of all."""
    by_index = {index: visitors for index, visitors, _, _ in rows}
    everybody = sum(by_index.values())
    low = next((low for _, _, low, _ in rows if low is not None), None)
    high = next((high for _, _, _, high in rows if high is not None), None)
    counts = (by_index.get(index, 0) for index in range(len(RANGES)))
    return [
        (*days.columns, visitors, visitors, everybody, low, high, everybody)
        for days, visitors in zip(RANGES, counts, strict=True)
    ]


TIME_TO_CONVERT = (
    QueryType(
        name="time_to_convert",
        description="visitors who reached a goal by the whole days (24 hours each) from their "
        "first event ever to their first conversion in the time range; each row has the median of "
        "all visitors",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        checks=(DAILY_IDS,),
        row=ConversionDelay,
        options=TimeToConvert,
        sql=time_to_convert_statement,
    ),
)
