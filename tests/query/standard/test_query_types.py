"""Rules for every query type; a new one is tested as soon as it is declared."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from sqlglot import exp

from query.engine.duckdb_dialect import DuckDBDialect
from query.engine.duckdb_engine import DUCKDB_TYPES
from query.request.subject import SubjectKind
from query.scope.scope import BUCKET, MS
from query.scope.visits import BY_COLUMN
from query.sql.portable import FUNCTIONS, parse
from query.sql.select import Select, render
from query.standard.declaration.fields import describe_row, field_specs
from query.standard.declaration.query_type import QueryType, index_by_name
from query.standard.declaration.statement import (
    columns_used,
    table_cte_name,
    unfiltered_cte_name,
)
from query.standard.query_types import FAMILIES, QUERY_TYPES
from schemas.tables import ColumnType, Table
from tests.query.lake import (
    Stored,
    a_click,
    a_view,
    a_vital,
    an_engagement,
    an_error,
    an_event,
    an_outbound_click,
)
from tests.query.query_service import InProcessService, start_service

ENTRIES = """
    SELECT NULL::VARCHAR AS name, NULL::VARCHAR AS outbound_domain,
           NULL::VARCHAR AS property_key, NULL::VARCHAR AS property_value
"""
LABELS = ("date", "minute", "name", "step", "period", "complete")
"""Fields that are there also where nothing happened."""
ONLY_FOR_THE_ORDER = {"epoch", "kafka_partition", "kafka_offset", "seq", "row_rank"}
EVERY = [query_type for family in FAMILIES for query_type in family]

FULL = {
    "country": "DE",
    "region": "BE",
    "city": "Berlin",
    "browser_name": "Chrome",
    "browser_version": "140",
    "os_name": "macOS",
    "device_type": "desktop",
    "referrer": "https://x.com/a",
    "referrer_name": "X",
}
MORE: dict[str, Any] = {
    "channel": "Organic Social",
    "utm_source": "s",
    "utm_medium": "m",
    "utm_campaign": "c",
    "utm_term": "t",
    "utm_content": "d",
    "language": "de",
    "timezone": "Europe/Berlin",
    **FULL,
}
SEEN: dict[str, Any] = {
    "os_version": "15",
    "screen_resolution": "1920x1080",
    "viewport_size": "1200x800",
    "scroll_depth": Decimal(50),
    "interaction_count": 3,
    **dict.fromkeys(("load_time", "dom_ready_time", "ttfb", "render_time"), 100),
}
LATELY = "2026-11-30T00:52:20Z"
ROWS: list[Stored] = [
    *(
        a_view(f"/{n}", session=f"s{n}", visitor=f"u{n}", time_on_page=5, **MORE, **SEEN)
        for n in range(3)
    ),
    *(a_view(f"/next/{n}", session=f"s{n}", visitor=f"u{n}") for n in range(3)),
    *(
        a_view(f"/{n}", session=f"now{n}", visitor=f"u{n}", at=LATELY, received=LATELY, **MORE)
        for n in range(3)
    ),
    *(an_outbound_click(f"https://x{n}.example/") for n in range(3)),
    *(an_error(f"e{n}", path=f"/{n}", error_type=f"T{n}") for n in range(3)),
    *(a_click(**FULL | {"country": c, "referrer_name": c}) for c in ("DE", "FR", "IT")),
    *(
        an_event(f"n{n}", path=f"/{n}", properties=f'{{"plan":"p{n}","seats":{n}}}')
        for n in range(3)
    ),
    *(
        an_engagement(
            f"/{n}", visitor=f"u{v}", rage_click_count=n, form_field_count=1, active_time=v
        )
        for n in range(3)
        for v in range(5)
    ),
    *(a_vital(metric, value, **FULL) for metric in ("LCP", "CLS") for value in (0.1, 1.5, 2.5)),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(*ROWS)
    return running


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    return start_service(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def bare() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that has a `scoped` table and nothing else."""
    connection = duckdb.connect()
    yield connection
    connection.close()


def run_query(service: InProcessService, query_type: QueryType, **more: Any) -> Any:
    """The rows of a type, with what it needs."""
    subject = "link:go" if query_type.subject is SubjectKind.LINK else "shop"
    own = msgspec.to_builtins(query_type.example) if query_type.example else {}
    parameters = {"session_id": "s1", "anonymous_id": "u1"}
    filters = [
        {"field": n, "op": "eq", "value": parameters[n]} for n in query_type.required_filters
    ]
    return service.rows({"name": query_type.name, **own}, subject=subject, filters=filters, **more)


def kinds(table: Table) -> Mapping[str, str]:
    """The engine's type of each column that `scoped` may have."""
    types = {column.name: DUCKDB_TYPES[column.type] for column in table.columns}
    facts = dict.fromkeys(BY_COLUMN, "VARCHAR")
    return {**types, **facts, MS: "BIGINT", BUCKET: "BIGINT"}


def relations(query_type: QueryType) -> Mapping[str, Table]:
    """What a type may read, by name."""
    others = {table_cte_name(table): table for table in query_type.tables}
    unfiltered = {unfiltered_cte_name(table): table for table in query_type.tables}
    own = dict.fromkeys(("scoped", "visit_rows"), query_type.table)
    return {**own, **others, **unfiltered}


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_a_type_needs_nothing_but_scoped_and_selects_its_row_shape(
    bare: duckdb.DuckDBPyConnection, query_type: QueryType
) -> None:
    statement = query_type.statement(query_type.example)
    for relation, table in relations(query_type).items():
        columns = ", ".join(
            f"{name} {kinds(table)[name]}" for name in columns_used(table, statement.names)
        )
        bare.execute(f"CREATE TABLE {relation} ({columns or 'nothing INTEGER'})")
    bare.execute(f"CREATE VIEW entries AS {ENTRIES}")
    facts = ", ".join(f"{name} VARCHAR" for name in BY_COLUMN)
    bare.execute(f"CREATE TABLE visit_facts (visit_session BIGINT, {facts})")
    select = Select(relations=(), ctes=statement.ctes, body=statement.sql)

    described = bare.execute(render(select, DuckDBDialect), dict(statement.values)).description

    if statement.rows_in_python is not None:
        return  # the rows are made from what SQL gives
    names = [column[0] for column in described or ()]
    assert set(names[len(query_type.sql_columns) :]) <= ONLY_FOR_THE_ORDER
    for name, wanted in zip(names, query_type.sql_columns, strict=False):
        assert name == wanted or not re.search(r"_(part|whole|low|high|ms|count|total)$", wanted)


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_a_type_answers_an_empty_span(empty: InProcessService, query_type: QueryType) -> None:
    rows = run_query(empty, query_type)

    assert all(list(row) == list(describe_row(query_type.row)) for row in rows)
    assert all(value in (0, None) or name in LABELS for row in rows for name, value in row.items())


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_a_type_gives_rows_of_its_shape(service: InProcessService, query_type: QueryType) -> None:
    rows = run_query(service, query_type)

    assert rows
    assert msgspec.convert(rows, list[query_type.row])  # type: ignore[name-defined]


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_paging_through_gives_the_whole_list_once(
    service: InProcessService, query_type: QueryType
) -> None:
    whole = run_query(service, query_type, limit=query_type.max_limit)

    pages = [run_query(service, query_type, limit=2, page=n) for n in range(1, len(whole) // 2 + 2)]

    assert [row for page in pages for row in page] == whole


PORTABLE_FUNCTIONS = {
    *FUNCTIONS,
    *(exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.TryCast),
    *(exp.Count, exp.Sum, exp.Min, exp.Max, exp.RowNumber, exp.Lead, exp.Lag),
    *(exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least),
    *(exp.Length, exp.Lower, exp.Substring),
}
"""What DuckDB, Trino and ClickHouse answer alike, or an engine's dialect writes in its own way."""
PORTABLE_TYPES = {
    exp.DType.INT128,
    exp.DType.BIGINT,
    exp.DType.INT,
    exp.DType.TEXT,
    exp.DType.DECIMAL,
    exp.DType.DOUBLE,
}


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_the_sql_keeps_to_what_other_engines_answer_alike(query_type: QueryType) -> None:
    statement = query_type.statement(query_type.example)
    trees = [parse(statement.sql), *(parse(cte.sql) for cte in statement.ctes)]
    functions = {type(f) for tree in trees for f in tree.find_all(exp.Func)}
    types = {cast.to.this for tree in trees for cast in tree.find_all(exp.Cast)}
    aliases = {alias.alias for tree in trees for alias in tree.find_all(exp.Alias)}
    stored = {column.name for column in query_type.table.columns}

    assert functions <= PORTABLE_FUNCTIONS, functions - PORTABLE_FUNCTIONS
    assert types <= PORTABLE_TYPES, types - PORTABLE_TYPES
    assert not any(tree.find(exp.Limit, exp.Qualify, exp.Lateral, exp.Unnest) for tree in trees)
    assert trees[0].args.get("order")
    assert not aliases & stored, aliases & stored


def test_a_name_declared_twice_stops_the_program() -> None:
    with pytest.raises(ValueError, match="'outbound_links' is declared twice"):
        index_by_name(EVERY, [QUERY_TYPES["outbound_links"]])


def test_every_column_type_is_known_to_the_engine() -> None:
    assert set(DUCKDB_TYPES) == set(ColumnType)


# Numbers of the types that have no test of their own family


def test_the_course_of_a_website_agrees_with_its_totals(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(
        # begins on the 10th and goes on after midnight
        a_view("/a", session="s1", at="2026-11-10T23:59:00Z"),
        a_view("/b", session="s1", at="2026-11-11T00:01:00Z"),
        a_view("/a", session="s2", visitor="u2", at="2026-11-11T09:00:00Z"),
    )
    days = {"startDate": "2026-11-10", "endDate": "2026-11-12"}

    nothing = dict.fromkeys(("pageviews", "visitors", "sessions"), 0)
    ratios = ("bounce_rate", "median_session_duration", "pages_per_session")
    assert service.rows("events_by_date", **days) == [
        {
            "date": "2026-11-10",
            "pageviews": 1,
            "visitors": 1,
            "sessions": 1,
            "bounce_rate": 0.0,
            "median_session_duration": 120.0,
            "pages_per_session": 2.0,
        },
        {
            "date": "2026-11-11",
            "pageviews": 2,
            "visitors": 2,
            "sessions": 1,
            "bounce_rate": 100.0,
            "median_session_duration": 0.0,
            "pages_per_session": 1.0,
        },
        {"date": "2026-11-12", **nothing, **dict.fromkeys(ratios, 0.0)},
    ]
    assert service.rows("session_metrics", **days) == [
        {
            "total_sessions": 2,
            "avg_session_duration": 60.0,
            "bounce_rate": 50.0,
            "total_events": 3,
        }
    ]


def test_the_first_and_last_pages_of_sessions(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(
        # the same instant: the order in which they were sent decides
        a_view("/in"),
        a_view("/out"),
        a_view("/in", session="s2", visitor="u2"),
    )

    assert service.rows("entry_pages") == [
        {"name": "/in", "pageviews": 2, "visitors": 2, "percentage": 100.0}
    ]
    assert service.rows("exit_pages") == [
        {"name": "/in", "pageviews": 1, "visitors": 1, "percentage": 50.0},
        {"name": "/out", "pageviews": 1, "visitors": 1, "percentage": 50.0},
    ]


def test_custom_events_are_what_the_sender_named(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(
        a_view("/"),
        an_event("page_exit"),
        an_outbound_click("https://x.example/"),
        an_event("signup", properties='{"plan":"pro"}', at="2026-11-10T12:00:00Z"),
        an_event("signup", properties="{}", visitor="u2", at="2026-11-11T12:00:00Z"),
        an_event("login", path="/in"),
    )

    assert service.rows("custom_events") == [
        {
            "name": "signup",
            "total_events": 2,
            "unique_users": 2,
            "unique_sessions": 1,
            "last_occurrence": "2026-11-11T12:00:00.000Z",
            "first_occurrence": "2026-11-10T12:00:00.000Z",
            "events_with_properties": 1,
            "percentage": 66.67,
        },
        {
            "name": "login",
            "total_events": 1,
            "unique_users": 1,
            "unique_sessions": 1,
            "last_occurrence": "2026-11-10T12:00:00.000Z",
            "first_occurrence": "2026-11-10T12:00:00.000Z",
            "events_with_properties": 0,
            "percentage": 33.33,
        },
    ]
    assert service.rows("custom_events_summary") == [
        {
            "total_events": 3,
            "unique_event_types": 2,
            "unique_users": 2,
            "unique_sessions": 1,
            "unique_pages": 1,
        }
    ]


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_rows_may_be_sorted_by_every_field(
    service: InProcessService, query_type: QueryType
) -> None:
    for field in field_specs(query_type.row):
        order = [{"field": field, "direction": "desc"}]
        values = [row[field] for row in run_query(service, query_type, orderBy=order)]

        there = [value for value in values if value is not None and not isinstance(value, list)]
        assert there == sorted(there, reverse=True)
