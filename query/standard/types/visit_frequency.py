"""visit_frequency: visitors by how many visits they had in the time range.

A visit counts for the visitor of its first page view, so that each counts once.
"""

from collections.abc import Sequence

from msgspec import Struct

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.scope.session_rows import PAGE_VIEWS, of_first_view
from query.sql.select import Cte
from query.standard.declaration.fields import KeyInteger, OptionalKeyInteger, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.result_check import DAILY_IDS
from query.standard.declaration.statement import Statement
from query.standard.sql.number_ranges import number_ranges, range_index
from schemas.tables import EVENTS

RANGES = number_ranges(*range(1, 12), 16, 26, 51, 101)


class VisitRange(Struct, frozen=True):
    visits: str
    from_visits: KeyInteger
    to_visits: OptionalKeyInteger
    visitors: int
    percentage: Percent
    visits_total: int


VISITS_OF_VISITORS = (
    Cte(
        "session_visitors",
        f"""
        SELECT {of_first_view("view_visitor")} AS visitor
          FROM session_rows
         GROUP BY session_hash
        HAVING {PAGE_VIEWS} > 0
        """,  # noqa: S608
    ),
    Cte(
        "visitor_visits",
        """
        SELECT COUNT(*) AS visit_count
          FROM session_visitors
         WHERE visitor IS NOT NULL
         GROUP BY visitor
        """,
    ),
)


def visit_range_rows(rows: Sequence[Row], *_: object) -> Sequence[Row]:
    """A row for each range, zeros where there is no visitor."""
    by_index = {index: (visitors, visits) for index, visitors, visits in rows}
    everybody = sum(visitors for visitors, _ in by_index.values())
    counts = (by_index.get(index, (0, 0)) for index in range(len(RANGES)))
    return [
        (*visit_range.columns, visitors, visitors, everybody, visits)
        for visit_range, (visitors, visits) in zip(RANGES, counts, strict=True)
    ]


VISIT_FREQUENCY = (
    QueryType(
        name="visit_frequency",
        description="visitors by how many visits they had in the time range, and the visits that "
        "they had together",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        checks=(DAILY_IDS,),
        row=VisitRange,
        sql=Statement(
            ctes=VISITS_OF_VISITORS,
            rows_in_python=visit_range_rows,
            sql=f"""
                SELECT {range_index("visit_count", RANGES)} AS range_index,
                       COUNT(*)                             AS visitors,
                       CAST(SUM(visit_count) AS BIGINT)     AS visits_total
                  FROM visitor_visits
                 GROUP BY {range_index("visit_count", RANGES)}
                 ORDER BY range_index
            """,  # noqa: S608
        ),
    ),
)
