"""An export is a stream: bounded memory, no gap between slices, two at once, freed when left."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.transaction import AddAction
from starlette.types import Message

from query.engine.duckdb_engine import DuckDBEngine, PoolLimits
from query.engine.engine import Sql
from query.engine.tenant_limits import ExportLimiter
from query.export import slices as export_rows
from query.formats.columns import ColumnKind, ResultColumn
from query.formats.streamed_response import StreamedResponse
from schemas.errors import Unavailable
from schemas.tables import EVENTS
from tests.asgi_client import http_scope
from tests.query.export.export_requests import CSV, START_US, exported, lines
from tests.query.lake import a_view
from tests.query.query_service import NOVEMBER, InProcessService


def test_slices_join_without_gap_or_double(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_rows, "SLICE_ROWS", 3)
    service.holds(
        *(
            a_view(f"/{i}", at=f"2026-11-{1 + i % 28:02d}T00:00:00Z", website="blog")
            for i in range(60)
        )
    )
    # The same instant twice is told apart by where the rows came from.
    expected = sorted(range(60), key=lambda i: (1 + i % 28, i))

    rows = lines(exported(service, website_id="blog", columns="path").body)

    assert [row["path"] for row in rows] == [f"/{i}" for i in expected]


@pytest.mark.long
def test_memory_does_not_grow_with_the_rows(service: InProcessService) -> None:
    """Four times the rows, about 130 MB more of them, and hardly more memory."""
    many(service, 60_000, website="blog")
    many(service, 240_000, website="rival")
    _, little = asyncio.run(taken(service, "blog"))

    size, much = asyncio.run(taken(service, "rival", key="globex"))

    assert size > 150 * 2**20
    assert much - little < 48 * 2**20


def many(service: InProcessService, count: int, website: str) -> None:
    """Store that many page views as one part, spread evenly over a day."""
    service.holds(a_view("/many", website=website, at="2026-11-10T00:00:00Z"))
    [row] = [
        row
        for path in service.lake.paths(EVENTS)
        if (row := pq.read_table(path))["website_id"][0].as_py() == website
    ]
    step = 86_400_000_000 // count
    ts = pa.array(range(START_US, START_US + step * count, step)).cast(row["ts"].type)
    offset = pa.array(range(count), pa.int64())
    rows = row.take(pa.array([0] * count))
    for name, values in (("ts", ts), ("kafka_offset", offset)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    path = f"day=2026-11-10/{website}-many.parquet"
    table = service.lake.root / "events"
    pq.write_table(rows, table / path, row_group_size=50_000)
    borders = [{"website_id": website, "ts": f"2026-11-{day}T00:00:00.000Z"} for day in (10, 11)]
    stats = {"numRecords": count, "minValues": borders[0], "maxValues": borders[1], "nullCount": {}}
    handle = DeltaTable(table)
    add = AddAction(
        path, (table / path).stat().st_size, {"day": "2026-11-10"}, 0, True, json.dumps(stats)
    )
    handle.create_write_transaction([add], "append", handle.schema(), ["day"])


async def taken(service: InProcessService, website: str, key: str = "acme") -> tuple[int, int]:
    """Bytes that an export sends, and the most memory that the process had meanwhile."""
    size = most = 0

    async def send(message: Any) -> None:
        nonlocal size, most
        size += len(message.get("body", b""))
        most = max(most, resident())

    query = urlencode({"website_id": website, **NOVEMBER})
    scope = http_scope("GET", f"/v1/export/events?{query}", {"x-api-key": service.keys[key]})
    await service.app(scope, stays, send)
    return size, most


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def stays() -> Message:
    """A client that stays until the end."""
    return await asyncio.Event().wait()  # type: ignore[return-value]


def test_an_organization_has_two_exports_under_way_at_most() -> None:
    turns = ExportLimiter()
    with (
        turns.slot("acme"),
        turns.slot("globex"),
        turns.slot("acme"),
        pytest.raises(Unavailable, match="2 exports of this organization are running"),
        turns.slot("acme"),
    ):
        pass
    with turns.slot("acme"):
        assert turns._running == {"acme": 1}


def test_a_client_that_leaves_frees_the_export() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[list[tuple[int]], None]:
        try:
            while True:
                yield [(1,)] * 1000
                await asyncio.sleep(0)
        finally:
            closed.set()

    async def leave_after_three() -> None:
        sent, gone = 0, asyncio.Event()

        async def send(_message: object) -> None:
            nonlocal sent
            sent += 1
            if sent == 3:
                gone.set()
            await asyncio.sleep(0)

        async def receive() -> dict[str, str]:
            await gone.wait()
            return {"type": "http.disconnect"}

        columns = [ResultColumn("n", ColumnKind.INTEGER)]
        response = StreamedResponse(CSV, "n", columns, endless(), allowed=lambda: True)
        async with asyncio.timeout(10):
            await response({"type": "http"}, receive, send)

    asyncio.run(leave_after_three())
    assert closed.is_set()


def test_the_engine_is_free_after_a_stream_is_left(tmp_path: Path) -> None:
    engine = DuckDBEngine(
        "test", str(tmp_path), tmp_path / "spill", PoolLimits(128, 1, concurrency=1)
    )
    forever = Sql("SELECT range FROM range(100000000000)")

    async def first_of_many() -> list[Any]:
        async with aclosing(engine.batches(forever, 5.0, 2)) as batches:
            return await anext(batches)

    async def both() -> tuple[Any, Any]:
        return await first_of_many(), await engine.rows(Sql("SELECT 1"), 5.0)

    assert asyncio.run(both()) == ([(0,), (1,)], [(1,)])
    engine.close()
