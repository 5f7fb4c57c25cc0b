"""A question's time is one, however many statements it takes to answer."""

import asyncio
from pathlib import Path

from query.engine.duckdb_engine import DuckDB
from query.engine.hardening import Bounds
from query.engine.snapshots import Pinned
from query.request.time_range import Span
from query.scope.scope import Scope
from query.standard.execute import Work
from query.standard.query_types import QUERY_TYPES
from schemas.lake.delta_table import Version
from schemas.tables import EVENTS


async def left(engine: DuckDB, seconds: float, lapse: float) -> tuple[float, float]:
    """What is left of a question's time at first, and after a lapse."""
    scope = Scope(Pinned(Version(EVENTS, 0, ()), 0), "website_id", "w1", Span(0, 1, "UTC"))
    ends = asyncio.get_running_loop().time() + seconds
    work = Work(engine, QUERY_TYPES["session_list"], scope, None, 0, ends)
    first = work.seconds
    await asyncio.sleep(lapse)
    return first, work.seconds


def test_a_later_statement_has_what_the_first_left(tmp_path: Path) -> None:
    engine = DuckDB("standard", str(tmp_path), tmp_path / "spill", Bounds(64, 1))

    first, second = asyncio.run(left(engine, seconds=10, lapse=0.05))
    none = asyncio.run(left(engine, seconds=0.01, lapse=0.05))
    engine.close()

    assert 9 < first <= 10
    assert second <= first - 0.05
    assert none[1] == 0.0
