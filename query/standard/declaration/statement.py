"""Statement: the SQL of a standard query over `scoped`, its CTEs and its values.

SQL may name more relations: `visit_rows` (all rows of the visits that have a row in `scoped`),
`session_rows` (what these rows add to their sessions: `scope/session_rows.py`),
`visit_facts` (a row for each visit: `visit_session` and the facts that are named), `entries` (a row
for each property of an event), `scoped_<table>` (the same subject, time range and filters in
another table), `unfiltered_<table>` (without the filters) and `visitor_profiles` (the profile and
traits of each visitor who was identified: `profile_visitor`). A text that does not name
`visit_facts` has the facts as columns of `scoped` and `visit_rows`: `visit_channel`, ...
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from query.engine.engine import Row
from query.request.property_path import TRAITS_COLUMN
from query.request.time_range import Granularity, TimeRange
from query.scope.path_columns import path_columns
from query.scope.profiles import PROFILE_COLUMN
from query.scope.scope import BUCKET, MS, PROPERTY_ENTRIES
from query.scope.visitor_facts import FIRST_BUCKET, VISITOR_FACT_COLUMNS
from query.scope.visits import BY_COLUMN, NamesRead, names_read
from query.sql.select import Cte, ResultForm
from schemas.kinds import TABLES
from schemas.tables import Table

ENTRY_COLUMNS = ("name", "outbound_domain")
"""Columns of the event that `entries` repeats beside each property."""

ReadRange = Callable[[TimeRange], TimeRange]
"""The time range whose rows are read, from that of the result."""
TimeRangeOverride = Callable[[TimeRange, int], TimeRange]
"""The time range that is read, from the requested one and the current time."""
RangeValues = Callable[[TimeRange, int], Mapping[str, object]]
"""Values that depend on the time range of the result and the current time."""
RowsInPython = Callable[[Sequence[Row], TimeRange, int, Granularity], Sequence[Row]]
"""Makes the result's rows from all SQL rows (of a series those of all buckets), the time range, the
current time and the width of the buckets."""


def same_range(time_range: TimeRange) -> TimeRange:
    """The rows of the time range itself."""
    return time_range


def requested_range(requested: TimeRange, now_ms: int) -> TimeRange:  # noqa: ARG001
    """The time range of the request."""
    return requested


class Statement(Struct, frozen=True, kw_only=True):
    """SQL over `scoped`, and what few statements need besides."""

    sql: str
    ctes: tuple[Cte, ...] = ()
    values: Mapping[str, object] = {}
    range_values: RangeValues | None = None
    """Further values, of the time range of the result: SQL sees only the one that is read."""
    granularity: Granularity | None = None
    """Width of the buckets, when it is not the requested one."""
    form: ResultForm | None = None
    """What is made of the rows, such as a page; None for all rows in the order of the SQL."""
    inlined: bool = False
    """Whether `scoped` is read anew at each use: materialized, its rows would fill memory."""
    time_range_override: TimeRangeOverride = requested_range
    """Gives the time range of a type that does not read the requested one."""
    read_range: ReadRange = same_range
    """Gives the time range whose rows are read, of a type that reads earlier rows as well."""
    unfiltered_range: ReadRange = same_range
    """The same for the rows that no filter leaves out, and for facts of their visits."""
    visits_cte: str | None = None
    """The CTE whose `session_hash` are the only visits that it reads `visit_facts` of."""
    absent: tuple[str, ...] = ()
    """Fields of the row shape that the rows do not have; each is one column all the same."""
    rows_in_python: RowsInPython | None = None
    """Makes the rows in Python when SQL cannot; they are sorted and paged afterwards."""

    @property
    def read(self) -> NamesRead:
        """What the SQL names."""
        return names_read((self.sql, *(cte.sql for cte in self.ctes)))

    @property
    def names(self) -> frozenset[str]:
        """The columns and relations that the SQL names."""
        return self.read.names


JoinColumns: TypeAlias = Callable[[Sequence[Row], Sequence[Row]], Sequence[Row]]
"""The rows that the SQL of a type would give, from prepared rows and those of a statement."""


class StoredColumns(Struct, frozen=True, kw_only=True):
    """Columns of a type that prepared results do not have, by a smaller statement in its scope."""

    statement: Statement
    join: JoinColumns


def columns_used(table: Table, names: frozenset[str]) -> list[str]:
    """The columns of `scoped` that SQL with these names needs."""
    entry_columns = {"properties", *ENTRY_COLUMNS} if PROPERTY_ENTRIES in names else set()
    of_visitor = (*VISITOR_FACT_COLUMNS, FIRST_BUCKET, PROFILE_COLUMN, TRAITS_COLUMN)
    of_path = (column.name for column in path_columns(table))
    available = (*(c.name for c in table.columns), *of_path, MS, BUCKET, *BY_COLUMN, *of_visitor)
    return [name for name in available if name in names or name in entry_columns]


def table_cte_name(table: Table) -> str:
    """The name of the CTE with the rows of another table."""
    return f"scoped_{table.name}"


def unfiltered_cte_name(table: Table) -> str:
    """The name of the CTE with the rows of another table that no filter leaves out."""
    return f"unfiltered_{table.name}"


def other_tables(names: frozenset[str]) -> list[Table]:
    """The tables that SQL with these names reads besides `scoped`."""
    return [
        table
        for table in TABLES
        if not names.isdisjoint((table_cte_name(table), unfiltered_cte_name(table)))
    ]
