"""CUSTOM_TABLES: tables and columns that custom queries may name."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.custom.session_table import PREFIX, SESSION_COLUMNS
from query.request.buckets import Granularity
from query.request.filters import FilterField
from schemas.kinds import KINDS
from schemas.tables import EVENTS, ColumnType, Table


class CustomColumn(Struct, frozen=True):
    """A column that requests may name."""

    name: str
    type: ColumnType
    description: str
    sql: str
    """SQL expression over the stored rows, or over the sessions computed from them."""
    values: Mapping[str, object] = {}
    """Bound values of the expression."""
    granularity: Granularity | None = None
    """Of a time bucket; its expression depends on the time range."""


class CustomTable(Struct, frozen=True):
    """A table that requests may name."""

    name: str
    description: str
    table: Table
    columns: tuple[CustomColumn, ...]
    where: str = ""
    """SQL condition that restricts the stored table."""
    is_computed: bool = False
    """Whether its rows are sessions, computed per query."""

    @property
    def time(self) -> str:
        """SQL expression of the instant that decides the time bucket of a row."""
        return f"{PREFIX}started_at" if self.is_computed else self.table.time_column

    @property
    def fields(self) -> Mapping[str, FilterField]:
        """Its columns for filters."""
        return {column.name: FilterField(column.type, column.sql) for column in self.columns}

    def column(self, name: str) -> CustomColumn | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)


def _from_table(table: Table) -> tuple[CustomColumn, ...]:
    """The public columns of a stored table, under their own names."""
    return tuple(
        CustomColumn(c.name, c.type, c.description, c.name) for c in table.columns if c.public
    )


COLUMN_ALIASES = {"link_text": "text", "outbound_domain": "domain"}


def _outbound() -> Sequence[CustomColumn]:
    excluded = {"properties", "time_on_page", "scroll_depth"}
    return [
        CustomColumn(COLUMN_ALIASES.get(c.name, c.name), c.type, c.description, c.sql)
        for c in _from_table(EVENTS)
        if c.name not in excluded
    ]


CUSTOM_TABLES = {
    table.name: table
    for table in (
        *(
            CustomTable(kind.table.name, kind.description, kind.table, _from_table(kind.table))
            for kind in KINDS
        ),
        CustomTable(
            "sessions",
            "sessions with at least one page view, from their events in the time range",
            EVENTS,
            tuple(
                CustomColumn(c.name, c.type, c.description, f"{PREFIX}{c.name}")
                for c in SESSION_COLUMNS
            ),
            is_computed=True,
        ),
        CustomTable(
            "outbound",
            "outbound clicks",
            EVENTS,
            tuple(_outbound()),
            where="outbound_domain IS NOT NULL",
        ),
    )
}
