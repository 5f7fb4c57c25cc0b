"""Facts of a visit: what holds for every row of a session, such as its channel or entry page.

They come from the first and the last page view of the session, by the order of rows, also when
those lie up to a day before or after the time range. Filters and groups read them from the CTE
`visit_facts`, which has a row for each session; rows of other tables are joined with it as well.
What the keeper has prepared of a data file (`schemas/tables/sessions.py`) is read in its place.

In filters a fact is `visit.<name>`. The plain name of a source (`channel`, `utm_source`, ...) means
the visit's as well; the value that the row itself has stored is `event.<name>`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from query.request.filters import FilterField
from query.request.time_range import TimeRange
from query.sql.portable import names_in
from query.sql.row_definitions import LAST_ROW_ORDER_NUMBER, ROW_ORDER, ROW_ORDER_NUMBER
from query.sql.select import Cte, Join
from schemas.tables import EVENTS, ColumnType, Table
from schemas.tables.column import WEBSITE_COLUMN
from schemas.tables.sessions import SOURCE_COLUMNS, VISIT_COLUMNS, VisitColumn

VISIT_PREFIX = "visit."
ROW_PREFIX = "event."
"""Before the name of a source column: the value of the row itself."""
DAY_MS = 24 * 3_600_000
"""How far before and after the time range a page view may lie from which a fact comes: so far, and
until the next UTC midnight, because prepared visits are those of a UTC day."""

VISIT_VIEWS = "visit_views"
"""The relation with page views that facts come from."""
PREPARED_VISITS = "prepared_visits"
"""The relation with the facts of visits that were computed from data files."""
VISIT_FACTS = "visit_facts"

_ROW_ORDER = ROW_ORDER.split(", ")
_STORED_ORDER = ("ts", *_ROW_ORDER[1:])


class VisitFact(Struct, frozen=True):
    """One fact: a column of events, of the first or the last page view of the session."""

    name: str
    column: str
    description: str
    is_last: bool = False

    @property
    def field(self) -> str:
        """Its name in requests."""
        return VISIT_PREFIX + self.name

    @property
    def sql_column(self) -> str:
        """Its column in `visit_facts` and in `scoped`."""
        return f"visit_{self.name}"

    def sql_in(self, table: Table) -> str:
        """Its expression over a row joined with `visit_facts`.

        A row of events that belongs to no session has its own source.
        """
        value = f"{VISIT_FACTS}.{self.sql_column}"
        if table is EVENTS:
            return f"CASE WHEN session_hash IS NULL THEN {self.column} ELSE {value} END"
        return value


def _facts(columns: Sequence[VisitColumn]) -> tuple[VisitFact, ...]:
    return tuple(VisitFact(c.name, c.column, c.description, c.is_last) for c in columns)


SOURCE_FACTS = _facts(SOURCE_COLUMNS)
"""Where a visit came from."""

FACTS = _facts(VISIT_COLUMNS)

BY_COLUMN = {fact.sql_column: fact for fact in FACTS}


WEBSITE_FIELD = WEBSITE_COLUMN.name


def website_fields(table: Table) -> Mapping[str, FilterField]:
    """The name for the website of a row, of several in one query."""
    if table.subject_column != WEBSITE_FIELD:
        return {}
    return {WEBSITE_FIELD: FilterField(ColumnType.STRING, WEBSITE_FIELD)}


def has_visits(table: Table) -> bool:
    """Whether the rows of a table belong to sessions."""
    return any(column.name == "session_hash" for column in table.columns)


@cache
def visit_fields(table: Table) -> Mapping[str, FilterField]:
    """The names that filters on a table may use for facts of the visit."""
    if not has_visits(table):
        return {}
    fields = {fact.field: FilterField(ColumnType.STRING, fact.sql_in(table)) for fact in FACTS}
    return {**{fact.name: fields[fact.field] for fact in SOURCE_FACTS}, **fields}


def row_source_fields(table: Table) -> Mapping[str, FilterField]:
    """The names for the sources that the rows of a table themselves have stored."""
    if not has_visits(table):
        return {}
    stored = {column.name for column in table.columns}
    return {
        ROW_PREFIX + fact.name: FilterField(ColumnType.STRING, fact.column)
        for fact in SOURCE_FACTS
        if fact.column in stored
    }


def names_visit_facts(fields: set[str], table: Table) -> bool:
    """Whether one of these names of filter fields is a fact of the visit."""
    return not visit_fields(table).keys().isdisjoint(fields)


def around(time_range: TimeRange) -> TimeRange:
    """The time range in which facts of its visits are looked up."""
    start = time_range.start_ms - DAY_MS
    end = time_range.end_ms + DAY_MS
    return TimeRange(start - start % DAY_MS, end + -end % DAY_MS, time_range.zone)


VISIT_JOIN = Join(VISIT_FACTS, f"{VISIT_FACTS}.visit_session = stored.session_hash")


def facts_named(names: frozenset[str]) -> Sequence[VisitFact]:
    """The facts whose columns are among these names."""
    return [fact for name, fact in BY_COLUMN.items() if name in names]


class NamesRead(Struct, frozen=True):
    """The columns and relations that texts name; facts from `visit_facts` stand by themselves."""

    names: frozenset[str]
    facts: Sequence[VisitFact]


def names_read(texts: Iterable[str]) -> NamesRead:
    """What these texts of one statement name.

    A text that names `visit_facts` takes its facts from there, every other one from `scoped`.
    """
    by_text = [names_in(text) for text in texts]
    of_facts = frozenset({VISIT_FACTS, *BY_COLUMN})
    names = (each - of_facts if VISIT_FACTS in each else each for each in by_text)
    facts = (each for each in by_text if VISIT_FACTS in each)
    return NamesRead(frozenset[str]().union(*names), facts_named(frozenset[str]().union(*facts)))


def visit_facts_cte(facts: Sequence[VisitFact], relations: Collection[str]) -> Cte:
    """The CTE with a row for each session, from page views and prepared visits."""
    rows = {
        VISIT_VIEWS: [f"{fact.column} AS {fact.name}" for fact in facts],
        PREPARED_VISITS: [fact.name for fact in facts],
    }
    orders = {False: "first_order", True: "last_order"}
    needed = [orders[is_last] for is_last in sorted({fact.is_last for fact in facts})]
    union = " UNION ALL ".join(
        f"SELECT {', '.join(['session_hash', *_orders(name, needed), *columns])} FROM {name}"  # noqa: S608
        for name, columns in rows.items()
        if name in relations
    )
    columns = ",\n".join(
        f"{'LAST' if fact.is_last else 'FIRST'}_BY({fact.name}, {orders[fact.is_last]})"
        f" AS {fact.sql_column}"
        for fact in facts
    )
    sql = f"""
        SELECT session_hash AS visit_session,
               {columns}
          FROM ({union}) AS views
         GROUP BY session_hash
    """  # noqa: S608
    return Cte(VISIT_FACTS, sql)


def _orders(relation: str, names: Sequence[str]) -> list[str]:
    """The row order of the first and of the last page view that a row stands for."""
    is_view = relation == VISIT_VIEWS
    orders = {
        "first_order": ROW_ORDER_NUMBER,
        "last_order": ROW_ORDER_NUMBER if is_view else LAST_ROW_ORDER_NUMBER,
    }
    return [f"{orders[name]} AS {name}" for name in names]


def columns_of_views(facts: Sequence[VisitFact]) -> Sequence[str]:
    """The columns of page views that `visit_facts` reads."""
    return list(dict.fromkeys(["session_hash", *_ROW_ORDER, *(fact.column for fact in facts)]))


def columns_of_prepared(facts: Sequence[VisitFact]) -> Sequence[str]:
    """The columns of prepared visits that `visit_facts` reads."""
    last = [f"last_{name}" for name in _STORED_ORDER] if any(f.is_last for f in facts) else []
    return ["session_hash", *_ROW_ORDER, *last, *(fact.name for fact in facts)]
