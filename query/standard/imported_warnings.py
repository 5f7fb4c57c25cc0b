"""Warnings that imported totals of the time range are not in the numbers of a result."""

from datetime import UTC, datetime

from msgspec import Struct

from query.engine.engine import Row
from query.request.query import Query
from query.response.bodies import ResultWarning
from query.scope.imported_days import whole_days
from query.scope.row_scope import Scope
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement, requested_range
from query.standard.types.imported_totals import DIMENSIONS, WHOLE_WEBSITE
from schemas.tables import IMPORTED_TOTALS

BESIDE, CANNOT_ANSWER = "IMPORTED_TOTALS", "IMPORTED_TOTALS_CANNOT_ANSWER"


class ImportedBeside(Struct, frozen=True):
    """Imported totals that may lie in the time range of a query, and how they are looked up."""

    query: Query
    query_type: QueryType
    totals: Scope

    @property
    def dimension(self) -> str | None:
        """The dimension that has what the query counts; None when none has."""
        return DIMENSIONS.get(self.query_type.name)

    @property
    def statement(self) -> Statement:
        """A row for each product: days, the first and last one, and those with the dimension."""
        return Statement(
            values={"dimension": self.dimension or WHOLE_WEBSITE},
            sql="""
                SELECT product,
                       COUNT(DISTINCT ms) AS day_count,
                       MIN(ms) AS first_ms,
                       MAX(ms) AS last_ms,
                       COUNT(*) FILTER (WHERE dimension = $dimension) AS row_count
                  FROM scoped
                 GROUP BY product
                 ORDER BY product
            """,
        )

    def warning(self, row: Row) -> ResultWarning:
        """The warning of one product."""
        product, day_count, first_ms, last_ms, row_count = row
        first, last = (datetime.fromtimestamp(ms / 1000, UTC).date() for ms in (first_ms, last_ms))
        totals = f"imported totals of {first} to {last} from {product} are not in these numbers"
        if reason := self._why_not(row_count):
            return ResultWarning(CANNOT_ANSWER, f"{totals}; {reason}", day_count)
        series = "_by_date" if self.query_type.starts_with_time else ""
        split = f" with the dimension '{self.dimension}'" if self.dimension else ""
        text = f"{totals}; query type 'imported_totals{series}'{split} has them"
        return ResultWarning(BESIDE, text, day_count)

    def _why_not(self, row_count: int) -> str:
        if self.query.filters:
            return "they cannot be filtered"
        if self.dimension is None:
            return "counts by day cannot answer this query"
        return "" if row_count else f"they are not split by '{self.dimension}'"


def imported_beside(query: Query, query_type: QueryType, scope: Scope) -> ImportedBeside | None:
    """What may lie in the time range of a query about events, by the statistics of data files.

    None on a shared dashboard, which has no imported totals.
    """
    pinned = scope.pinned.totals
    fixed = query_type.time_range_override is not requested_range
    is_shared = query.subject.shared_filters is not None
    if pinned is None or not pinned.version.data_files or fixed or is_shared:
        return None
    days = whole_days(query.time_range)
    totals = Scope(
        pinned=pinned,
        subject_column=IMPORTED_TOTALS.subject_column,
        subjects=query.subject.ids,
        time_range=days,
        include_bots=query.include_bots,
        hidden=query.subject.hidden,
    )
    if days.start_ms == days.end_ms or not totals.data_files:
        return None
    return ImportedBeside(query, query_type, totals)
