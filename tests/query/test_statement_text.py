"""No text of a request gets into SQL, and long lists make no long statement."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.custom.compiler import compile_query
from query.custom.request import CustomQueryBody
from query.custom.validation import validate
from query.engine.duckdb_engine import DuckDBEngine, PoolLimits
from query.engine.snapshots import PinnedVersion
from query.request.time_range import TimeRange
from query.scope.scope import Scope
from query.sql.result_forms import Page
from schemas.lake.delta_table import TableVersion
from tests.query.hostile_settings import SETTINGS
from tests.query.query_strategies import names_in


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBEngine]:
    folder = tmp_path_factory.mktemp("engine")
    running = DuckDBEngine("safety", str(folder), folder / "spill", PoolLimits(64, 1))
    yield running
    running.close()


@SETTINGS
@given(value=st.text(min_size=1, max_size=30), name=st.from_regex(r"[a-z_]{1,20}", fullmatch=True))
def test_no_word_of_a_request_gets_into_the_sql(
    engine: DuckDBEngine, value: str, name: str
) -> None:
    def create(value: str, name: str) -> str:
        query = {
            "table": "sessions",
            "selects": [{"field": "duration", "aggregate": "avg", "alias": name}],
            "groupBy": ["country"],
            "filters": [{"field": "entry_path", "operator": "contains", "value": value}],
        }
        return sql_of(engine, query)

    assert create(value, name) == create("x", "y")


def sql_of(engine: DuckDBEngine, query: dict[str, Any]) -> str:
    """The text that a query of shop becomes."""
    plan = validate(msgspec.convert(query, CustomQueryBody))
    pinned = PinnedVersion(TableVersion(plan.table.table, 0, ()), 0)
    column, day = plan.table.table.subject_column, TimeRange(0, 86_400_000, "UTC")
    scope = Scope(pinned, column, ("shop",), day, events=pinned)
    return asyncio.run(compile_query(engine, plan, scope, Page(), {})).text


def test_a_long_list_makes_no_longer_statement_than_a_short_one(engine: DuckDBEngine) -> None:
    counts = {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]}
    outside = {"field": "path", "operator": "not_in"}

    assert sql_of(engine, {**counts, "filters": [names_in(1000)]}) == sql_of(
        engine, {**counts, "filters": [names_in(101)]}
    )
    long, short = ([{**outside, "value": names_in(n)["value"]}] for n in (100, 1))
    assert sql_of(engine, {**counts, "filters": long}) == sql_of(
        engine, {**counts, "filters": short}
    )
