"""Hypothesis strategies for standard queries: time ranges, zones, granularities, filters, pages."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Protocol

from hypothesis import strategies as st
from msgspec import Struct

from query.request.operators import OPERATORS, Arity, Operator
from schemas.kinds import TABLES
from schemas.tables import LEDGER, QUARANTINE, ColumnType, Table
from tests.oracle.behaviors import behaviors
from tests.oracle.filters import FilterJson
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
    """What is no stored column: a fact of the visit or visitor, or a source of the event itself."""

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


_paths = st.sampled_from(("/", "/a", "/a/b"))
_steps = st.one_of(
    st.fixed_dictionaries({"path": _paths}),
    st.fixed_dictionaries({"event": st.sampled_from(("signup", "screen_view", "page_exit"))}),
    st.fixed_dictionaries(
        {
            "path": _paths,
            "label": st.just("some of them"),
            "filters": st.sampled_from(
                [
                    [{"field": name, "operator": "eq", "value": value}]
                    for name, value in (
                        ("country", "DE"),
                        ("visit.country", "DE"),
                        ("channel", "Direct"),
                        ("event.channel", "Direct"),
                    )
                ]
            ),
        }
    ),
)

BREAKDOWNS = (
    *("channel", "event.channel", "visit.country", "visit.entry_page", "visit.exit_page"),
    *("device_type", "path", "name", "is_bot", "load_time", "properties.plan", "properties.seats"),
)


def _split(options: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The options, half of the time with a breakdown."""
    breakdown = st.fixed_dictionaries(
        {"breakdown": st.sampled_from(BREAKDOWNS)},
        optional={"breakdown_limit": st.sampled_from((1, 2, 3))},
    )
    return st.builds(lambda own, more: {**own, **more}, options, st.one_of(st.just({}), breakdown))


_goals = st.builds(
    lambda step, value: {**step, "value": value} if value else step,
    _steps,
    st.sampled_from((None, "properties.seats", "properties.price")),
)
_FUNNEL = _split(
    st.fixed_dictionaries(
        {
            "steps": st.lists(_steps, min_size=2, max_size=4),
            "window": st.sampled_from((900, 36_000, 604_800)),
            "by": st.sampled_from(("visitor", "session")),
        }
    )
)
_GOALS = st.builds(
    lambda own, touch: {**own, "attribution": touch} if touch and "breakdown" in own else own,
    _split(st.fixed_dictionaries({"goals": st.lists(_goals, min_size=1, max_size=3)})),
    st.sampled_from((None, "first_touch", "last_touch")),
)
_PATHS = _split(
    st.fixed_dictionaries(
        {"max_steps": st.sampled_from((2, 3, 5))}, optional={"from": _paths, "to": _paths}
    )
)
_PERIOD = st.fixed_dictionaries({"period": st.sampled_from(("day", "week", "month"))})
_RETENTION = _split(_PERIOD)
_ATTRIBUTION = st.fixed_dictionaries(
    {
        "goal": _goals,
        "model": st.sampled_from(
            ("first_touch", "last_touch", "last_non_direct", "linear", "position_based")
        ),
    },
    optional={
        "by": st.sampled_from(("channel", "visit.entry_page", "utm_source")),
        "window_days": st.sampled_from((1, 2, 30)),
    },
)


@st.composite
def _numbers(draw: st.DrawFn, day: date) -> dict[str, Any]:
    """A number of another type, whose visitors are listed."""
    name = draw(st.sampled_from(("funnel", "goals", "paths", "retention")))
    strategies = {"funnel": _FUNNEL, "goals": _GOALS, "paths": _PATHS, "retention": _RETENTION}
    of = {"name": name, **draw(strategies[name])}
    if name == "funnel":
        of["step"] = draw(st.integers(1, len(of["steps"])))
        of["outcome"] = draw(st.sampled_from(("completed", "dropped")[: of["step"]]))
    if name == "goals":
        goal = draw(st.sampled_from(of["goals"]))
        of["goal"] = goal.get("label") or goal.get("event") or goal["path"]
        of["outcome"] = draw(st.sampled_from(("converted", "not_converted")))
    if name == "paths":
        of["path"] = draw(st.sampled_from(("/", "/a", "/ → /a", "/a → /a/b")))
    if name == "retention":
        back = {"day": 0, "week": day.weekday(), "month": day.day - 1}[of["period"]]
        of["date"] = (day - timedelta(days=back)).isoformat()
        of["after"] = draw(st.integers(0, 1))
        of["outcome"] = draw(st.sampled_from(("returned", "not_returned")))
    if "breakdown" in of:
        values = (None, "Direct", "DE", "/a", "pro", "mobile", "false")
        groups = st.one_of(
            st.just({"other": True}), st.builds(lambda v: {"breakdown": v}, st.sampled_from(values))
        )
        of["group"] = draw(groups)
    return of


def _options(day: date) -> st.SearchStrategy[Any]:
    """What the types that take options are told."""
    return st.fixed_dictionaries(
        {
            "funnel": _FUNNEL,
            "goals": _GOALS,
            "paths": _PATHS,
            "retention": _RETENTION,
            "stickiness": _PERIOD,
            "lifecycle": _PERIOD,
            "attribution": _ATTRIBUTION,
            "visitors": st.fixed_dictionaries({"of": _numbers(day)}),
        }
    )


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
    return QueryFrame(query, names, draw(_options(stage.day)))


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
    return QueryFrame(query, {table.name: () for table in TABLES}, draw(_options(stage.day)))
