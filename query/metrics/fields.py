"""FIELDS: what metrics queries may name in filters and as dimensions, of rows and of visits.

A plain source name (`channel`, `utm_source`, ...) is the fact of the visit; the value that a row
itself has is `event.<name>`. So is that of a column with the name of a metric.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from query.metrics.ledger import LEDGER_FIELDS
from query.metrics.metrics import BY_NAME
from query.request.property_path import PROPERTIES_COLUMN
from query.scope.path_columns import PATH_COLUMNS, path_columns
from query.scope.profiles import PROFILE_COLUMN, PROFILE_FIELD, PROFILES
from query.scope.visitor_facts import VISITOR_FACT_COLUMNS, VISITOR_FACTS
from query.scope.visits import FACTS, SOURCE_FACTS, WEBSITE_FIELD, VisitFact
from query.sql.message_pattern import MESSAGE_PATTERN, message_pattern
from schemas.tables import ERRORS, EVENTS, LEDGER, VITALS, Column, ColumnType, Table
from schemas.tables.column import WEBSITE_COLUMN

ROW_PREFIX = "event."
READ_TABLES = (EVENTS, ERRORS, VITALS)
"""The tables with rows of visitors that metrics are computed from."""
ALL_TABLES = frozenset(table.name for table in READ_TABLES)
TABLES_WITH_TIME = ALL_TABLES | {LEDGER.name}
TABLES_WITH_PROPERTIES = frozenset(t.name for t in READ_TABLES if t.column(PROPERTIES_COLUMN))


class Field(Struct, frozen=True):
    """One field: its type, its expression over rows, and what it means."""

    name: str
    type: ColumnType
    column: str
    description: str
    tables: frozenset[str] = ALL_TABLES
    """The tables whose rows have it."""
    fact: VisitFact | None = None
    """The fact of the visit that it is."""
    stored: str = ""
    """Its expression over a stored row, if that is another than the column."""
    in_ms: bool = False
    """Whether it is an instant in Unix milliseconds."""

    @property
    def of_visit(self) -> bool:
        return self.fact is not None

    @property
    def reads_events(self) -> bool:
        """Whether its values come from events, for rows of any table."""
        return self.of_visit or self.column in VISITOR_FACT_COLUMNS

    def condition_sql(self, table: Table) -> str:
        """Its expression over a stored row, in conditions of the relation itself."""
        return self.fact.sql_in(table) if self.fact else self.stored or self.column


def _fields() -> Iterator[Field]:
    sources = {fact.name for fact in SOURCE_FACTS}
    for c, tables in _columns().items():
        names = {c.name: c.description}
        if c.name in sources:
            names = {ROW_PREFIX + c.name: c.description}
        elif c.name in BY_NAME:
            full = ROW_PREFIX + c.name
            names = {full: c.description, c.name: f"the same as {full}"}
        for name, meaning in names.items():
            yield Field(name, c.type, c.name, meaning, tables)
    for path_column in PATH_COLUMNS:
        tables = frozenset(t.name for t in READ_TABLES if path_column in path_columns(t))
        yield Field(
            path_column.name,
            ColumnType.STRING,
            path_column.name,
            path_column.description,
            tables,
            stored=path_column.stored,
        )
    for c in LEDGER.columns:
        if c.name in LEDGER_FIELDS:
            yield Field(c.name, c.type, c.name, c.description, frozenset((LEDGER.name,)))
    yield Field(
        MESSAGE_PATTERN,
        ColumnType.STRING,
        message_pattern("message"),
        "message of the error with # for numbers, ids, addresses and query parts",
        frozenset((ERRORS.name,)),
    )
    yield Field(WEBSITE_FIELD, ColumnType.STRING, WEBSITE_FIELD, WEBSITE_COLUMN.description)
    yield Field(
        PROFILE_FIELD,
        ColumnType.STRING,
        PROFILE_COLUMN,
        "profile id that was last sent for the visitor",
        stored=f"{PROFILES}.{PROFILE_COLUMN}",
    )
    for each in VISITOR_FACTS:
        yield Field(
            each.field, each.type, each.column, each.description, stored=each.sql, in_ms=each.in_ms
        )
    for fact in FACTS:
        names = {fact.field: fact.description}
        if fact.name in sources:
            names[fact.name] = f"the same as {fact.field}"
        for name, meaning in names.items():
            yield Field(name, ColumnType.STRING, fact.sql_column, meaning, fact=fact)


def _columns() -> Mapping[Column, frozenset[str]]:
    """The public columns, with the names of the tables that have them."""
    tables: dict[str, set[str]] = {}
    columns: dict[str, Column] = {}
    for table in READ_TABLES:
        for column in table.columns:
            if column.public:
                columns.setdefault(column.name, column)
                tables.setdefault(column.name, set()).add(table.name)
    return {column: frozenset(tables[name]) for name, column in columns.items()}


FIELDS: Mapping[str, Field] = {field.name: field for field in _fields()}
