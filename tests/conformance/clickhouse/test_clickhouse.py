"""ClickHouse answers as DuckDB does: the SQL of one declaration, in the dialect of another engine.

ClickHouse is no engine of the query service. That a third engine gives the same rows shows that
the declaration says what is counted, and nothing that only one engine understands.
"""

from collections.abc import Iterator

import pytest
from msgspec import Struct

import query.app
from query.app import QueryService
from query.engine.engine_choice import LargeQueries
from query.standard.query_types import QUERY_TYPES
from tests.bench.clickhouse.server import clickhouse
from tests.conformance.clickhouse.engine import ClickHouseEngine
from tests.conformance.difference import difference
from tests.conformance.questions import Question, questions
from tests.conformance.services import answer, open_service
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.random_traffic import STAGES
from tests.query.lake import Lake

STAGE = STAGES[0]
PORTIONS = 3
"""Commits of each table, so that there are several files."""
RANDOM_QUERIES = 60


class Engines(Struct):
    """Two query services over one lake."""

    duckdb: QueryService
    clickhouse: QueryService
    engine: ClickHouseEngine

    def differences(self, asked: list[Question]) -> dict[str, str]:
        """By group, the first difference between the answers of both."""
        found: dict[str, str] = {}
        for question in asked:
            self.engine.statements.clear()
            expected, other = answer(self.duckdb, question), answer(self.clickhouse, question)
            assert expected[0] == 200, (question, expected)
            assert self.engine.statements, question
            if (differs := difference(expected, other)) is not None:
                found.setdefault(question.group, f"{differs} {question.body}")
        return found


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    folder = tmp_path_factory.mktemp("clickhouse")
    lake, stored = Lake(folder / "lake"), fixed_traffic(STAGE)
    for first in range(PORTIONS):
        lake.holds(*stored[first::PORTIONS])
    with clickhouse(folder) as running, pytest.MonkeyPatch.context() as patch:
        engine = ClickHouseEngine(running)
        duckdb = open_service(folder / "duckdb", str(lake.root))
        patch.setattr(query.app, "_large_queries", lambda _: LargeQueries(engine, 0))
        other = open_service(folder / "other", str(lake.root))
        yield Engines(duckdb, other, engine)
        duckdb.close()
        other.close()


def test_every_query_type_and_export_has_the_same_rows(engines: Engines) -> None:
    asked = list(questions(STAGE, 1, 0))
    assert {question.group for question in asked} == {*QUERY_TYPES, "exports"}
    assert engines.differences(asked) == {}


def test_custom_and_metrics_queries_have_the_same_rows(engines: Engines) -> None:
    asked = list(questions(STAGE, 0, RANDOM_QUERIES))
    asked = [question for question in asked if question.group.endswith(" queries")]
    assert len(asked) == RANDOM_QUERIES
    assert engines.differences(asked) == {}
