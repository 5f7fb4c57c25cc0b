"""What an outer engine does not change is that of the engine."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.engine import Row, Sql
from query.engine.hardening import PoolLimits
from query.engine.outer_engine import OuterEngine
from query.engine.snapshots import SnapshotCache
from schemas.tables import EVENTS
from tests.query.lake import Lake, a_view


def test_every_method_is_that_of_the_engine(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.holds(a_view("/"), a_view("/pricing"))
    engine = DuckDBEngine("standard", str(lake.root), tmp_path / "spill", PoolLimits(64, 1))
    outer = OuterEngine(engine)

    async def read() -> tuple[list[Row], list[list[Row]]]:
        pinned = await SnapshotCache(str(lake.root), lambda: 1).pin(EVENTS)
        assert outer.intact(pinned.version.data_files) == pinned.version.data_files
        relation = await outer.relation(pinned.version, EVENTS.columns)
        sql = Sql(f"SELECT path FROM {relation.text} ORDER BY path", relation.values)
        async with aclosing(outer.batches(sql, 10.0, 1)) as batches:
            return await outer.rows(sql, 10.0), [batch async for batch in batches]

    try:
        rows, batches = asyncio.run(read())
    finally:
        engine.close()

    assert rows == [("/",), ("/pricing",)]
    assert [row for batch in batches for row in batch] == rows
    assert (outer.name, outer.dialect) == (engine.name, engine.dialect)
    entries = outer.property_entries("events", ["path"])
    assert entries == engine.property_entries("events", ["path"])
