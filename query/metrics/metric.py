"""Metric: what a metrics query computes, and from which rows.

A metric is a formula over parts; a part is an aggregate over one source. SQL computes the value
that is shown, ratios by integer arithmetic, rounded half up to two decimals: order, `having` and
pages agree with it, on every engine.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from query.standard.declaration.result_check import ResultCheck
from schemas.tables import ERRORS, EVENTS, LEDGER, VITALS, Table

DECIMALS = 6
"""Of a value that is no ratio."""


class Source(StrEnum):
    """What a part is computed from; the value names the CTE."""

    ROWS = "of_rows"
    """The rows that meet the filters."""
    PAGE_VIEWS = "of_page_views"
    """The page views that meet the filters, each with what was reported of it."""
    VISITS = "of_visits"
    """The visits with such a row, whole; under each value that one of these rows has."""
    RANKED_VISITS = "of_ranked_visits"
    """The same, ranked by duration."""
    ENTRIES = "of_entries"
    """The first page view of each visit."""
    EXITS = "of_exits"
    """The last page view of each visit."""
    VISIT_VIEWS = "of_visit_views"
    """All page views of the visits."""
    ERRORS = "of_errors"
    """The error reports that meet the filters."""
    SESSIONS_SEEN = "of_sessions_seen"
    """The sessions of page views and error reports that meet the filters."""
    VITALS = "of_vitals"
    """The web vitals that meet the filters, ranked by value."""
    LEDGER = "of_ledger"
    """The counts of accepted items, by hour of receipt."""

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that it reads."""
        return OTHER_TABLES.get(self, (EVENTS,))


ROW_SOURCES = (
    Source.ROWS,
    Source.PAGE_VIEWS,
    Source.ERRORS,
    Source.SESSIONS_SEEN,
    Source.VITALS,
    Source.LEDGER,
)
OTHER_TABLES: Mapping[Source, Sequence[Table]] = {
    Source.ERRORS: (ERRORS,),
    Source.SESSIONS_SEEN: (EVENTS, ERRORS),
    Source.VITALS: (VITALS,),
    Source.LEDGER: (LEDGER,),
}


class Unit(StrEnum):
    """The unit of a value; all but counts may have decimals."""

    COUNT = "count"
    NUMBER = "number"
    PERCENT = "percent"
    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    MONEY = "money"

    @property
    def of_nothing(self) -> int | None:
        """The value of a group without rows: counts and sums of money are 0."""
        return 0 if self in (Unit.COUNT, Unit.MONEY) else None


class Part(Struct, frozen=True):
    """An aggregate over the rows of a source."""

    name: str
    source: Source
    sql: str
    values: Mapping[str, object] = {}
    """Bound values."""
    only: str = ""
    """A condition on the rows of the source that it needs; without one, it needs all."""


class Metric(Struct, frozen=True):
    """One metric: its unit, its meaning, its formula over the names of its parts."""

    name: str
    unit: Unit
    description: str
    sql: str
    parts: tuple[Part, ...]
    checks: tuple[ResultCheck, ...] = ()
    """What warnings of its values come from."""
    value_of_nothing: float | None = None
    """Its value for a group without rows, if that of its unit is none."""

    @property
    def of_nothing(self) -> float | None:
        """The value for a group without rows."""
        return self.unit.of_nothing if self.value_of_nothing is None else self.value_of_nothing

    @property
    def subject(self) -> str:
        """What it is a number of, for the rule of filters: rows or visits."""
        return "rows" if all(part.source in ROW_SOURCES for part in self.parts) else "visits"

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that it reads."""
        return list(dict.fromkeys(table for part in self.parts for table in part.source.tables))


def count(part: Part, description: str) -> Metric:
    """A part that is a count, 0 where there is none."""
    return Metric(part.name, Unit.COUNT, description, f"COALESCE({part.name}, 0)", (part,))


def ratio(numerator: str, denominator: str, decimals: int = 2) -> str:
    """The ratio of two integers that are not negative, rounded half up to some decimals.

    NULL when there is nothing to divide, or nothing to divide by.
    """
    above, below = f"CAST({numerator} AS INT128)", f"CAST({denominator} AS INT128)"
    units = f"INT_DIV({above} * {2 * 10**decimals} + {below}, 2 * {below})"
    unit = f"0.{1:0{decimals}}"
    return f"CASE WHEN {denominator} > 0 THEN CAST({units} AS DECIMAL(24, 0)) * {unit} END"


def percent(name: str, part: Part, whole: Part, description: str) -> Metric:
    """The share of a part in percent."""
    sql = ratio(f"COALESCE({part.name}, 0) * 100", whole.name)
    return Metric(name, Unit.PERCENT, description, sql, (part, whole))
