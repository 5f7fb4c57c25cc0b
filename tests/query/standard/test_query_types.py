"""Rules for every query type; a new one is tested as soon as it is declared."""

import re
from collections.abc import Mapping
from typing import Any

import duckdb
import msgspec
import pytest
from sqlglot import exp

from query.engine.duckdb_dialect import DuckDBDialect
from query.engine.duckdb_engine import DUCKDB_TYPES
from query.request.subject import SubjectKind
from query.request.time_range import TimeRange
from query.request.time_zones import DAY_MS
from query.scope.path_columns import PATH_COLUMN_NAMES
from query.scope.profiles import LISTED_PROFILE, LISTED_TRAITS, PROFILES
from query.scope.scope import BUCKET, MS
from query.scope.session_rows import (
    SESSION_ROWS,
    event_columns,
    session_rows_cte,
    values_named,
)
from query.scope.visitor_facts import FIRST_BUCKET, FIRST_SEEN, IS_NEW
from query.scope.visits import BY_COLUMN
from query.sql.portable import FUNCTIONS, ReplaceMatches, parse
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
from tests.query.query_service import InProcessService, start_service
from tests.query.standard.diverse_rows import ROWS

ENTRIES = """
    SELECT NULL::VARCHAR AS name, NULL::VARCHAR AS outbound_domain,
           NULL::VARCHAR AS property_key, NULL::VARCHAR AS property_value
"""
LABELS = (
    *("date", "minute", "name", "step", "period", "complete"),
    *("visits", "from_visits", "to_visits", "days", "from_days", "to_days"),
)
"""Fields that are there also where nothing happened."""
ONLY_FOR_THE_ORDER = {"epoch", "kafka_partition", "kafka_offset", "seq", "row_rank"}
EVERY = [query_type for family in FAMILIES for query_type in family]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(*ROWS)
    group = {"name": "All pages", "paths": ["*"]}
    reply = running.ask("POST", "/v1/path_groups", group, key="acme-admin", website_id="shop")
    assert reply.status == 201, reply.json
    return running


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    return start_service(tmp_path_factory.mktemp("empty"))


PROFILE_COLUMNS = f"{LISTED_PROFILE} VARCHAR, {LISTED_TRAITS} VARCHAR"


def run_query(service: InProcessService, query_type: QueryType, **more: Any) -> Any:
    """The rows of a type, with what it needs."""
    subject = "link:go" if query_type.subject is SubjectKind.LINK else "shop"
    own = msgspec.to_builtins(query_type.example) if query_type.example else {}
    parameters = {"session_id": "s1", "anonymous_id": "u1"}
    filters = [
        {"field": n, "op": "eq", "value": parameters[n]} for n in query_type.required_filters
    ]
    return service.rows({"name": query_type.name, **own}, subject=subject, filters=filters, **more)


OF_BREAKDOWN = ("breakdown", "other")
"""Members of rows of a breakdown only."""


def kinds(table: Table) -> Mapping[str, str]:
    """The engine's type of each column that `scoped` may have."""
    types = {column.name: DUCKDB_TYPES[column.type] for column in table.columns}
    facts = dict.fromkeys((*BY_COLUMN, *PATH_COLUMN_NAMES), "VARCHAR") | {IS_NEW.column: "BOOLEAN"}
    instants = (FIRST_SEEN.column, FIRST_BUCKET, MS, BUCKET)
    return {**types, **facts, **dict.fromkeys(instants, "BIGINT")}


def relations(query_type: QueryType) -> Mapping[str, Table]:
    """What a type may read, by name."""
    others = {table_cte_name(table): table for table in query_type.tables}
    unfiltered = {unfiltered_cte_name(table): table for table in query_type.tables}
    own = dict.fromkeys(("scoped", "visit_rows"), query_type.table)
    return {**own, **others, **unfiltered}


def test_a_type_needs_nothing_but_scoped_and_selects_its_row_shape(
    subtests: pytest.Subtests,
) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name), duckdb.connect() as bare:
            statement = query_type.statement(query_type.example)
            values = values_named(statement.names)
            named = statement.names | event_columns(values)
            for relation, table in relations(query_type).items():
                columns = ", ".join(
                    f"{name} {kinds(table)[name]}" for name in columns_used(table, named)
                )
                bare.execute(f"CREATE TABLE {relation} ({columns or 'nothing INTEGER'})")
            bare.execute(f"CREATE VIEW entries AS {ENTRIES}")
            facts = ", ".join(f"{name} VARCHAR" for name in BY_COLUMN)
            bare.execute(f"CREATE TABLE visit_facts (visit_session BIGINT, {facts})")
            bare.execute(f"CREATE TABLE {PROFILES} (profile_visitor BIGINT, {PROFILE_COLUMNS})")
            session_rows = (session_rows_cte(values, ["visit_rows"]),)
            of_sessions = session_rows if SESSION_ROWS in statement.names else ()
            select = Select(relations=of_sessions, ctes=statement.ctes, body=statement.sql)

            bound = dict(statement.values)
            if statement.range_values is not None:
                bound |= statement.range_values(TimeRange(0, DAY_MS, "UTC"), DAY_MS)

            described = bare.execute(render(select, DuckDBDialect), bound).description

            if statement.rows_in_python is not None:
                continue  # the rows are made from what SQL gives
            names = [column[0] for column in described or ()]
            assert set(names[len(query_type.sql_columns) :]) <= ONLY_FOR_THE_ORDER
            for name, wanted in zip(names, query_type.sql_columns, strict=False):
                assert name == wanted or not re.search(
                    r"_(part|whole|low|high|ms|count|total)$", wanted
                )


def test_a_type_answers_an_empty_span(empty: InProcessService, subtests: pytest.Subtests) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name):
            rows = run_query(empty, query_type)

            members = [name for name in describe_row(query_type.row) if name not in OF_BREAKDOWN]
            assert all(list(row) == members for row in rows)
            assert all(
                value in (0, None) or name in LABELS for row in rows for name, value in row.items()
            )


def test_a_type_gives_rows_of_its_shape(
    service: InProcessService, subtests: pytest.Subtests
) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name):
            rows = run_query(service, query_type)

            assert rows
            assert msgspec.convert(rows, list[query_type.row])  # type: ignore[name-defined]


@pytest.mark.long  # the oracle pages through random traffic (test_invariants)
def test_paging_through_gives_the_whole_list_once(
    service: InProcessService, subtests: pytest.Subtests
) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name):
            whole = run_query(service, query_type, limit=query_type.max_limit)

            pages = [
                run_query(service, query_type, limit=2, page=n)
                for n in range(1, len(whole) // 2 + 2)
            ]

            assert [row for page in pages for row in page] == whole


PORTABLE_FUNCTIONS = {
    *FUNCTIONS,
    *(exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.TryCast),
    *(exp.Count, exp.Sum, exp.Min, exp.Max, exp.RowNumber, exp.Lead, exp.Lag),
    *(exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least),
    *(exp.Length, exp.Lower, exp.Upper, exp.Substring, exp.StrPosition, exp.Replace),
    exp.RegexpLike,  # RE2, Joni: a match anywhere; of classes that mean one thing, see below
}
"""What DuckDB, Trino and ClickHouse answer alike, or an engine's dialect writes in its own way."""
OTHER_CLASSES = re.compile(r"\\[dsw]", re.IGNORECASE)
"""Classes of regular expressions: of ASCII in DuckDB and ClickHouse, of Unicode in Trino."""
PORTABLE_TYPES = {
    exp.DType.INT128,
    exp.DType.BIGINT,
    exp.DType.INT,
    exp.DType.TEXT,
    exp.DType.DECIMAL,
    exp.DType.DOUBLE,
}


def test_the_sql_keeps_to_what_other_engines_answer_alike(subtests: pytest.Subtests) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name):
            statement = query_type.statement(query_type.example)
            trees = [parse(statement.sql), *(parse(cte.sql) for cte in statement.ctes)]
            functions = {type(f) for tree in trees for f in tree.find_all(exp.Func)}
            types = {cast.to.this for tree in trees for cast in tree.find_all(exp.Cast)}
            aliases = {alias.alias for tree in trees for alias in tree.find_all(exp.Alias)}
            stored = {column.name for column in query_type.table.columns}
            patterns = [
                match.expression.name
                for tree in trees
                for match in tree.find_all(exp.RegexpLike, ReplaceMatches)
            ]

            assert functions <= PORTABLE_FUNCTIONS, functions - PORTABLE_FUNCTIONS
            assert types <= PORTABLE_TYPES, types - PORTABLE_TYPES
            assert not any(
                tree.find(exp.Limit, exp.Qualify, exp.Lateral, exp.Unnest) for tree in trees
            )
            assert not any(map(OTHER_CLASSES.search, patterns)), patterns
            assert trees[0].args.get("order")
            assert not aliases & stored, aliases & stored


def test_a_name_declared_twice_stops_the_program() -> None:
    with pytest.raises(ValueError, match="'outbound_links' is declared twice"):
        index_by_name(EVERY, [QUERY_TYPES["outbound_links"]])


def test_every_column_type_is_known_to_the_engine() -> None:
    assert set(DUCKDB_TYPES) == set(ColumnType)


@pytest.mark.long
def test_rows_may_be_sorted_by_every_field_but_lists(
    service: InProcessService, subtests: pytest.Subtests
) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name):
            for field in (
                name for name, spec in field_specs(query_type.row).items() if spec.suffixes
            ):
                order = [{"field": field, "direction": "desc"}]
                rows = run_query(service, query_type, orderBy=order)
                values = [row[field] for row in rows if field in row or field not in OF_BREAKDOWN]

                there = [value for value in values if value is not None]
                assert there == sorted(there, reverse=True)
