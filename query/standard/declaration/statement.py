"""Statement: the SQL of a standard query over `scoped`, its CTEs and its values.

SQL may name three more relations: `unfiltered` (`scoped` without the filters), `entries` (a row for
each property of an event) and `scoped_<table>` (the same subject and time range in another table).
"""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from query.engine.engine import Row
from query.request.time_range import Granularity, TimeRange
from query.scope.scope import BUCKET, MS, PROPERTY_ENTRIES
from schemas.kinds import TABLES
from schemas.tables import Table

ENTRY_COLUMNS = ("name", "outbound_domain")
"""Columns of the event that `entries` repeats beside each property."""

TimeRangeOverride = Callable[[TimeRange, int], TimeRange]
"""The time range that is read, from the requested one and the current time."""
Finish = Callable[[Sequence[Row], TimeRange, int], Sequence[Row]]
"""Makes the result's rows from all SQL rows, the time range and the current time."""


def requested_range(requested: TimeRange, now_ms: int) -> TimeRange:  # noqa: ARG001
    """The time range of the request."""
    return requested


class Cte(Struct, frozen=True):
    """A common table expression: a named relation between `scoped` and the result."""

    name: str
    sql: str


class Statement(Struct, frozen=True, kw_only=True):
    """SQL over `scoped`, and what few statements need besides."""

    sql: str
    ctes: tuple[Cte, ...] = ()
    values: Mapping[str, object] = {}
    granularity: Granularity | None = None
    """Width of the buckets, when it is not the requested one."""
    not_materialized: bool = False
    """Inlines `scoped` at each use: materialized, its rows would not fit into memory."""
    time_range_override: TimeRangeOverride = requested_range
    """Gives the time range of a type that does not read the requested one."""
    finish: Finish | None = None
    """Makes the rows in Python when SQL cannot; they are sorted and paged afterwards."""

    @property
    def text(self) -> str:
        """The SQL of the CTEs and of the statement."""
        return " ".join([*(cte.sql for cte in self.ctes), self.sql])

    @property
    def identifiers(self) -> frozenset[str]:
        """Every name and keyword in the SQL."""
        return frozenset(re.findall(r"\w+", self.text))


def columns_used(table: Table, identifiers: frozenset[str]) -> list[str]:
    """The columns of `scoped` that SQL with these identifiers needs."""
    entry_columns = {"properties", *ENTRY_COLUMNS} if PROPERTY_ENTRIES in identifiers else set()
    available = (*(c.name for c in table.columns), MS, BUCKET)
    return [name for name in available if name in identifiers or name in entry_columns]


def table_cte_name(table: Table) -> str:
    """The name of the CTE with the rows of another table."""
    return f"scoped_{table.name}"


def other_tables(identifiers: frozenset[str]) -> list[Table]:
    """The tables that SQL with these identifiers reads besides `scoped`."""
    return [table for table in TABLES if table_cte_name(table) in identifiers]
