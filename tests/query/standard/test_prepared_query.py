"""A question's time is one, however many statements it takes to answer."""

import asyncio
from pathlib import Path

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.hardening import PoolLimits
from query.engine.snapshots import PinnedVersion
from query.request.query import Query
from query.request.subject import QuerySubject, SubjectKind
from query.request.time_range import TimeRange
from query.scope.scope import Scope
from query.standard.prepared_query import PreparedQuery
from query.standard.query_types import QUERY_TYPES
from schemas.lake.delta_table import TableVersion
from schemas.tables import EVENTS


async def left(engine: DuckDBEngine, seconds: float, lapse: float) -> tuple[float, float]:
    """What is left of a question's time at first, and after a lapse."""
    scope = Scope(
        PinnedVersion(TableVersion(EVENTS, 0, ()), 0), "website_id", ("w1",), TimeRange(0, 1, "UTC")
    )
    subject = QuerySubject(SubjectKind.WEBSITE, ("w1",), "o1")
    query = Query(subject=subject, time_range=scope.time_range, now_ms=0)
    session_list = QUERY_TYPES["session_list"]
    deadline = asyncio.get_running_loop().time() + seconds
    prepared = PreparedQuery(
        query, session_list, session_list.statement(None), {"events": scope}, engine, deadline
    )
    first = prepared.seconds_left
    await asyncio.sleep(lapse)
    return first, prepared.seconds_left


def test_a_later_statement_has_what_the_first_left(tmp_path: Path) -> None:
    engine = DuckDBEngine("standard", str(tmp_path), tmp_path / "spill", PoolLimits(64, 1))

    first, second = asyncio.run(left(engine, seconds=10, lapse=0.05))
    none = asyncio.run(left(engine, seconds=0.01, lapse=0.05))
    engine.close()

    assert 9 < first <= 10
    assert second <= first - 0.05
    assert none[1] == 0.0
