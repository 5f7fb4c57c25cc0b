"""A question's time is one, however many statements it takes to answer."""

import asyncio
from pathlib import Path

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.hardening import PoolLimits
from query.run.plan import Source


async def left(engine: DuckDBEngine, seconds: float, lapse: float) -> tuple[float, float]:
    """What is left of a question's time at first, and after a lapse."""
    source = Source({}, engine, asyncio.get_running_loop().time() + seconds)
    first = source.seconds_left
    await asyncio.sleep(lapse)
    return first, source.seconds_left


def test_a_later_statement_has_what_the_first_left(tmp_path: Path) -> None:
    engine = DuckDBEngine("standard", str(tmp_path), tmp_path / "spill", PoolLimits(64, 1))

    first, second = asyncio.run(left(engine, seconds=10, lapse=0.05))
    none = asyncio.run(left(engine, seconds=0.01, lapse=0.05))
    engine.close()

    assert 9 < first <= 10
    assert second <= first - 0.05
    assert none[1] == 0.0
