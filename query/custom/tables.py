"""CUSTOM_TABLES: tables and columns that custom queries may name."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, structs

from query.custom.session_table import FACT_COLUMNS, PREFIX, SESSION_COLUMNS
from query.request.buckets import Granularity
from query.request.date_parts import DatePart
from query.request.filters import FilterField, VisitorTarget
from query.scope.path_columns import path_columns
from query.scope.profiles import profile_fields, reads_profiles
from query.scope.visitor_facts import VISITOR_FACTS, reads_visitor_facts
from query.scope.visitor_sets import VISITOR, visitor_target
from query.scope.visits import (
    FACTS,
    ROW_PREFIX,
    SOURCE_FACTS,
    VISIT_PREFIX,
    VisitFact,
    facts_named,
    has_visits,
)
from query.sql.fragment import Fragment
from query.sql.portable import names_in
from schemas.kinds import KINDS
from schemas.tables import EVENTS, IDENTITIES, LEDGER, QUARANTINE, ColumnType, Table
from schemas.tables.column import WEBSITE_COLUMN

SOURCES = {fact.name: fact for fact in SOURCE_FACTS}


class ColumnScope(StrEnum):
    """What a column is a fact of."""

    VISIT = "visit"
    VISITOR = "visitor"
    ROW = "row"


class CustomColumn(Struct, frozen=True):
    """A column that requests may name."""

    name: str
    type: ColumnType
    description: str
    sql: str
    """SQL expression over the rows of `scoped`, or over the sessions computed from them."""
    values: Mapping[str, object] = {}
    """Bound values of the expression."""
    granularity: Granularity | None = None
    """Of a time bucket; its expression depends on the time range."""
    date_part: DatePart | None = None
    """Of such a group; its expression depends on the time range."""
    scope: ColumnScope = ColumnScope.ROW
    alias_of: str | None = None
    """The column of the same table that is the same under another name."""
    condition_sql: str = ""
    """Its expression in filters, over stored rows, if it is another."""
    in_ms: bool = False
    """Whether it is an instant in Unix milliseconds."""

    def ms_sql(self, sql: str) -> str:
        """What has the type of the column as a value of results: instants in milliseconds."""
        is_instant = self.type is ColumnType.TIMESTAMP and not self.in_ms
        return f"UNIX_MS({sql})" if is_instant else sql


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
        columns = {
            column.name: FilterField(column.type, column.condition_sql or column.sql, column.in_ms)
            for column in self.columns
        }
        return {**columns, **profile_fields()} if self._has_profiles else columns

    @property
    def visitors(self) -> VisitorTarget | None:
        """For filters on what visitors did; None when it has no visitors of a website."""
        target = visitor_target(self.table, f"{PREFIX}{VISITOR}" if self.is_computed else VISITOR)
        return target and structs.replace(target, has_profiles=self._has_profiles)

    @property
    def _has_profiles(self) -> bool:
        """Whether filters on its rows may name profiles and traits."""
        return not self.is_computed and visitor_target(self.table) is not None

    def column(self, name: str) -> CustomColumn | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)


def stored_columns(table: Table) -> tuple[CustomColumn, ...]:
    """The public columns of a stored table, under their own names; and the website of a row."""
    return tuple(
        CustomColumn(c.name, c.type, c.description, c.name)
        for c in table.columns
        if c.public or (c is WEBSITE_COLUMN and table.subject_column == c.name)
    )


def visit_columns(table: Table) -> tuple[CustomColumn, ...]:
    """The facts of the visits that rows of a stored table belong to."""
    return tuple(_visit_column(table, fact) for fact in FACTS) if has_visits(table) else ()


def _visit_column(table: Table, fact: VisitFact) -> CustomColumn:
    return CustomColumn(
        fact.field,
        ColumnType.STRING,
        fact.description,
        fact.sql_column,
        scope=ColumnScope.VISIT,
        condition_sql=fact.sql_in(table),
    )


def visitor_columns(table: Table) -> tuple[CustomColumn, ...]:
    """The facts of the visitors that rows of a stored table belong to."""
    facts = VISITOR_FACTS if visitor_target(table) else ()
    return tuple(
        CustomColumn(
            fact.field,
            fact.type,
            fact.description,
            fact.column,
            scope=ColumnScope.VISITOR,
            condition_sql=fact.sql,
            in_ms=fact.in_ms,
        )
        for fact in facts
    )


def _from_table(table: Table) -> tuple[CustomColumn, ...]:
    """The columns of rows, their visits and visitors; the plain name of a source is the visit's."""
    of_path = (
        CustomColumn(c.name, ColumnType.STRING, c.description, c.name, condition_sql=c.stored)
        for c in path_columns(table)
    )
    stored = (*stored_columns(table), *of_path, *visitor_columns(table))
    if not has_visits(table):
        return stored
    visit = visit_columns(table)
    aliases = [
        structs.replace(column, name=name, alias_of=column.name)
        for column in visit
        if (name := column.name.removeprefix(VISIT_PREFIX)) in SOURCES
    ]
    renamed = [
        structs.replace(column, name=ROW_PREFIX + column.name) if column.name in SOURCES else column
        for column in stored
    ]
    return (*renamed, *visit, *aliases)


def tables_read(
    table: CustomTable, columns: Sequence[CustomColumn], where: Fragment
) -> Sequence[Table]:
    """The stored tables behind a table; events too for facts of visits and of visitors."""
    own = table.table
    named = names_in(where.text)
    has_facts = any(column.scope is not ColumnScope.ROW for column in columns)
    has_facts = has_facts or bool(facts_named(named)) or reads_visitor_facts(named)
    read = [own]
    if has_facts or where.visitor_sets:
        read.append(EVENTS)
    if reads_profiles(
        names_in(where.text).union(*(names_in(s.where.text) for s in where.visitor_sets))
    ):
        read.append(IDENTITIES)
    return tuple(dict.fromkeys(read))


COLUMN_ALIASES = {"link_text": "text", "outbound_domain": "domain"}


def _outbound() -> Sequence[CustomColumn]:
    excluded = {"properties", "time_on_page", "scroll_depth"}
    return [
        structs.replace(c, name=COLUMN_ALIASES.get(c.name, c.name))
        for c in _from_table(EVENTS)
        if c.name not in excluded
    ]


def _sessions() -> Sequence[CustomColumn]:
    own = [
        CustomColumn(c.name, c.type, c.description, f"{PREFIX}{c.name}") for c in SESSION_COLUMNS
    ]
    facts = [
        structs.replace(column, scope=ColumnScope.VISIT)
        for column in own
        if column.name in FACT_COLUMNS
    ]
    other = [column for column in own if column.name not in FACT_COLUMNS]
    same = [
        structs.replace(column, name=FACT_COLUMNS[column.name].field, alias_of=column.name)
        for column in facts
    ]
    return [*other, *facts, *same]


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
            tuple(_sessions()),
            is_computed=True,
        ),
        CustomTable(
            "outbound",
            "outbound clicks",
            EVENTS,
            tuple(_outbound()),
            where="outbound_domain IS NOT NULL",
        ),
        CustomTable(
            "quarantine",
            "items that were accepted and not stored, each with stage and reason; without contents",
            QUARANTINE,
            stored_columns(QUARANTINE),
        ),
        CustomTable(
            "ledger",
            "counts of accepted items by UTC hour of receipt; to be summed up",
            LEDGER,
            stored_columns(LEDGER),
        ),
    )
}
