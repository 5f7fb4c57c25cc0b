"""What a wrapper does not change is that of the engine."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.engine import Row, Sql
from query.engine.engine_wrapper import EngineWrapper
from query.engine.hardening import PoolLimits
from query.engine.snapshots import SnapshotCache
from schemas.tables import EVENTS
from tests.query.lake import Lake, a_view


def test_every_method_is_that_of_the_engine(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.holds(a_view("/"), a_view("/pricing"))
    engine = DuckDBEngine("standard", str(lake.root), tmp_path / "spill", PoolLimits(64, 1))
    wrapper = EngineWrapper(engine)

    async def read() -> tuple[list[Row], list[list[Row]]]:
        pinned = await SnapshotCache(str(lake.root), lambda: 1).pin(EVENTS)
        assert wrapper.intact(pinned.version.data_files) == pinned.version.data_files
        relation = await wrapper.relation(pinned.version, EVENTS.columns)
        sql = Sql(f"SELECT path FROM {relation.text} ORDER BY path", relation.values)
        async with aclosing(wrapper.batches(sql, 10.0, 1)) as batches:
            return await wrapper.rows(sql, 10.0), [batch async for batch in batches]

    try:
        rows, batches = asyncio.run(read())
    finally:
        engine.close()

    assert rows == [("/",), ("/pricing",)]
    assert [row for batch in batches for row in batch] == rows
    assert (wrapper.name, wrapper.dialect) == (engine.name, engine.dialect)
    entries = wrapper.property_entries("events", ["path"])
    assert entries == engine.property_entries("events", ["path"])
