"""CUSTOM_TABLES: what custom queries may name, and how each is made from a stored table."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.custom.session_table import PREFIX, SESSION_COLUMNS
from query.request.buckets import Granularity
from query.request.filters import FilterField
from schemas.tables import (
    CLICKS,
    ENGAGEMENT,
    ERRORS,
    EVENTS,
    IDENTITIES,
    VITALS,
    ColumnType,
    Table,
)


class CustomColumn(Struct, frozen=True):
    """A column as requests name it."""

    name: str
    type: ColumnType
    description: str
    sql: str
    """Our expression over the stored rows, or over the sessions made from them."""
    values: Mapping[str, object] = {}
    """What the expression binds."""
    granularity: Granularity | None = None
    """Of a time bucket, whose expression depends on the span."""


class CustomTable(Struct, frozen=True):
    """A table as requests name it."""

    name: str
    description: str
    table: Table
    columns: tuple[CustomColumn, ...]
    where: str = ""
    """A condition that is part of what the table is."""
    is_computed: bool = False
    """Whether its rows are sessions, computed when asked."""

    @property
    def time(self) -> str:
        """Our expression for the instant that puts a row into a bucket of time."""
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
    left_out = {"properties", "time_on_page", "scroll_depth"}
    return [
        CustomColumn(COLUMN_ALIASES.get(c.name, c.name), c.type, c.description, c.sql)
        for c in _from_table(EVENTS)
        if c.name not in left_out
    ]


CUSTOM_TABLES = {
    table.name: table
    for table in (
        CustomTable(
            "events", "custom events, page views, outbound clicks", EVENTS, _from_table(EVENTS)
        ),
        CustomTable(
            "sessions",
            "sessions with at least one page view, from their events inside the span",
            EVENTS,
            tuple(
                CustomColumn(c.name, c.type, c.description, f"{PREFIX}{c.name}")
                for c in SESSION_COLUMNS
            ),
            is_computed=True,
        ),
        CustomTable("errors", "errors that pages reported", ERRORS, _from_table(ERRORS)),
        CustomTable("vitals", "web vitals", VITALS, _from_table(VITALS)),
        CustomTable("clicks", "clicks on short links", CLICKS, _from_table(CLICKS)),
        CustomTable(
            "engagement",
            "what visitors did on a page, told on leaving",
            ENGAGEMENT,
            _from_table(ENGAGEMENT),
        ),
        CustomTable(
            "identities", "who visitors say to be, with traits", IDENTITIES, _from_table(IDENTITIES)
        ),
        CustomTable(
            "outbound",
            "clicks that leave the website",
            EVENTS,
            tuple(_outbound()),
            where="outbound_domain IS NOT NULL",
        ),
    )
}
