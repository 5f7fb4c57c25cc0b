"""Facts of a visit: what holds for every row of a session, such as its channel or entry page.

They come from the first and the last page view of the session, by the order of rows, also when
those lie up to a day before or after the time range. Filters and groups read them from the CTE
`visit_facts`, which has a row for each session; rows of other tables are joined with it as well.

In filters a fact is `visit.<name>`. The plain name of a source (`channel`, `utm_source`, ...) means
the visit's as well; the value that the row itself has stored is `event.<name>`.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.request.filters import FilterField
from query.sql.row_definitions import PAGE_VIEW, first_value, last_value
from query.sql.select import Cte, Join
from schemas.tables import EVENTS, ColumnType, Table

VISIT_PREFIX = "visit."
ROW_PREFIX = "event."
"""Before the name of a source column: the value of the row itself."""
LOOK_AROUND_MS = 24 * 3_600_000
"""How far before and after the time range a page view may lie from which a fact comes."""

VISIT_VIEWS = "visit_views"
"""The relation with the page views that facts come from."""
VISIT_FACTS = "visit_facts"


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


def _of_first_view(column: str) -> VisitFact:
    meaning = next(c.description for c in EVENTS.columns if c.name == column)
    return VisitFact(column, column, f"of the visit: {meaning}")


SOURCE_FACTS = tuple(
    _of_first_view(column)
    for column in (
        "referrer",
        "referrer_name",
        "referrer_type",
        "channel",
        "utm_source",
        "utm_medium",
        "utm_campaign",
        "utm_term",
        "utm_content",
        "click_id",
    )
)
"""Where a visit came from."""

FACTS = (
    *SOURCE_FACTS,
    VisitFact("entry_page", "path", "path of the first page view of the visit"),
    VisitFact("exit_page", "path", "path of the last page view of the visit", is_last=True),
    VisitFact("landing_host", "host", "host of the first page view of the visit"),
    *(
        _of_first_view(column)
        for column in (
            "browser_name",
            "browser_version",
            "os_name",
            "os_version",
            "device_type",
            "country",
            "region",
            "city",
            "language",
            "timezone",
        )
    ),
)

BY_COLUMN = {fact.sql_column: fact for fact in FACTS}


def has_visits(table: Table) -> bool:
    """Whether the rows of a table belong to sessions."""
    return any(column.name == "session_hash" for column in table.columns)


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


VISIT_JOIN = Join(VISIT_FACTS, f"{VISIT_FACTS}.visit_session = stored.session_hash")


def facts_named(names: frozenset[str]) -> Sequence[VisitFact]:
    """The facts whose columns are among these names."""
    return [fact for name, fact in BY_COLUMN.items() if name in names]


def visit_facts_cte(facts: Sequence[VisitFact]) -> Cte:
    """The CTE with a row for each session, from `visit_views`."""
    columns = ",\n".join(
        f"{(last_value if fact.is_last else first_value)(fact.column)} AS {fact.sql_column}"
        for fact in facts
    )
    sql = f"""
        SELECT session_hash AS visit_session,
               {columns}
          FROM {VISIT_VIEWS}
         WHERE {PAGE_VIEW}
           AND session_hash IS NOT NULL
         GROUP BY session_hash
    """  # noqa: S608
    return Cte(VISIT_FACTS, sql)
