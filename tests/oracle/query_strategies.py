"""Hypothesis strategies for standard queries: time ranges, zones, granularities, filters, pages."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from hypothesis import strategies as st
from msgspec import Struct

from query.request.operators import OPERATORS, Arity, Operator
from schemas.kinds import TABLES
from schemas.tables import LEDGER, QUARANTINE, ColumnType, Table
from tests.oracle.behaviors import behaviors
from tests.oracle.filters import FilterJson
from tests.oracle.option_strategies import options
from tests.oracle.profiles import PROFILE, TRAIT
from tests.oracle.query import StandardQuery
from tests.oracle.random_traffic import Stage
from tests.oracle.visitor_times import FIRST_SEEN, LAST_SEEN
from tests.oracle.visits import EVENT_NAMES, SOURCES, VISIT_NAMES
from tests.oracle.visits import TABLES as TABLES_WITH_VISITS

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")

VALUES: Mapping[ColumnType, tuple[Any, ...]] = {
    ColumnType.STRING: (
        "/a",
        "Chrome",
        "DE",
        "u1",
        "s2",
        "signup",
        "p1",
        "pro",
        "Direct",
        "Organic Search",
        "Google",
        "a",
        "ü",
        "/100%",
        "_",
        "no order #",
        "",
    ),
    ColumnType.LONG: (0, 12),
    ColumnType.INTEGER: (0, 3, 7, 12, 12.5, 3000),
    ColumnType.DECIMAL: (0, 1, 2.5, 10, 50, 2500, 0.0001),
    ColumnType.BOOLEAN: (True, False),
    ColumnType.TIMESTAMP: ("2026-10-25T01:30:00Z", "2026-11-29T12:00:00+01:00", 1_774_746_000_000),
}


NEEDED = {"session_id": "s1", "anonymous_id": "u1"}
"""Whom a question is about that needs a session or a visitor."""


class QueryFrame(Struct, frozen=True):
    """All of a question but its name; filters by table."""

    query: StandardQuery
    filters: Mapping[str, Sequence[FilterJson]]
    options: Mapping[str, Mapping[str, Any]]

    def of(self, name: str, table: str, subject: str, needs: Sequence[str] = ()) -> StandardQuery:
        """The question that asks for one query type; `needs` are filters that it must have."""
        filters = [
            *self.filters[table],
            *({"field": column, "operator": "eq", "value": NEEDED[column]} for column in needs),
        ]
        fields = {field: getattr(self.query, field) for field in StandardQuery.__struct_fields__}
        own = {"name": name, "subject": subject, "filters": filters}
        return StandardQuery(**fields | own | {"options": self.options.get(name, {})})


class Named(Protocol):
    """A column, stored or of a custom table."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> ColumnType: ...


class Fact(Struct, frozen=True):
    """Fields without a stored column: facts of the visit or visitor, sources of the event."""

    name: str
    type: ColumnType = ColumnType.STRING


OF_VISITORS = (
    Fact(FIRST_SEEN, ColumnType.TIMESTAMP),
    Fact(LAST_SEEN, ColumnType.TIMESTAMP),
    Fact("visitor.is_new", ColumnType.BOOLEAN),
)


def filters_of(table: Table) -> st.SearchStrategy[FilterJson]:
    """One filter on any public column of a stored table, or on what holds for its visits."""
    columns = filters_of_columns([column for column in table.columns if column.public])
    if table.name not in TABLES_WITH_VISITS:
        return columns
    names = [*sorted(VISIT_NAMES), *SOURCES, PROFILE, TRAIT]
    if table.name == "events":
        names += sorted(EVENT_NAMES)
    if table.name == "errors":
        names.append("message_pattern")
    facts = filters_of_columns([*map(Fact, names), *OF_VISITORS])
    return st.one_of(columns, facts, behaviors)


def filters_of_columns(columns: Sequence[Named]) -> st.SearchStrategy[FilterJson]:
    """One filter on any of the columns, with any operator that fits it."""
    pairs = [
        (column, operator)
        for column in columns
        for operator in OPERATORS
        if column.type is ColumnType.STRING or not operator.text_only
    ]
    return st.sampled_from(pairs).flatmap(lambda pair: _filter(*pair))


def grouped_filters(single: st.SearchStrategy[FilterJson]) -> st.SearchStrategy[FilterJson]:
    """One filter, or filters joined by `and`, `or` and `not`, one in another."""
    return st.recursive(
        single,
        lambda inner: st.one_of(
            st.fixed_dictionaries({"and": st.lists(inner, min_size=1, max_size=3)}),
            st.fixed_dictionaries({"or": st.lists(inner, min_size=1, max_size=3)}),
            st.fixed_dictionaries({"not": inner}),
        ),
        max_leaves=4,
    )


def _filter(column: Named, operator: Operator) -> st.SearchStrategy[FilterJson]:
    condition: dict[str, st.SearchStrategy[Any]] = {
        "field": st.just(column.name),
        "operator": st.just(operator.name),
    }
    value = st.sampled_from(VALUES[column.type])
    if operator.arity is Arity.ONE:
        condition["value"] = value
    if operator.arity is Arity.MANY:
        condition["value"] = st.lists(value, min_size=1, max_size=3)
    return st.fixed_dictionaries(condition)


@st.composite
def frames(draw: st.DrawFn, stage: Stage, granularities: Sequence[str]) -> QueryFrame:
    """Questions about the days around the stage."""
    start = stage.day + timedelta(days=draw(st.integers(-1, 1)))
    query = StandardQuery(
        name="",
        start=start,
        end=start + timedelta(days=draw(st.sampled_from((0, 1, 2)))),
        zone=draw(st.sampled_from((stage.zone, stage.zone, stage.zone, *ZONES))),
        granularity=draw(st.sampled_from(granularities)),
        include_bots=draw(st.booleans()),
        limit=draw(st.sampled_from((None, None, 1, 2, 1000))),
        page=draw(st.sampled_from((1, 1, 1, 2))),
    )
    names = {
        table.name: draw(st.lists(grouped_filters(filters_of(table)), max_size=2))
        for table in TABLES
        if table not in (QUARANTINE, LEDGER)
    }
    return QueryFrame(query, names, draw(options(stage.day)))


@st.composite
def plain(draw: st.DrawFn, stage: Stage, granularities: Sequence[str]) -> QueryFrame:
    """A question that sees everything of the days around the stage."""
    query = StandardQuery(
        name="",
        start=stage.day - timedelta(days=1),
        end=stage.day + timedelta(days=2),
        zone=stage.zone,
        granularity=draw(st.sampled_from(granularities)),
        include_bots=True,
        limit=1000,
    )
    return QueryFrame(query, {table.name: () for table in TABLES}, draw(options(stage.day)))
