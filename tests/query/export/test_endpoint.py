"""Exports: the stored rows of one subject, in order, as files of any size."""

import asyncio
import io
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
from query.formats.output_formats import FILE_FORMATS
from query.formats.streamed_response import StreamedResponse
from schemas.errors import Unavailable
from schemas.tables import EVENTS
from tests.asgi_client import http_scope
from tests.query.lake import a_click, a_view, a_vital, an_error, an_event, an_outbound_click
from tests.query.query_service import NOVEMBER, InProcessService, start_service

START_US = 1_794_268_800_000_000
"""2026-11-10T00:00:00Z"""

CSV = next(format_ for format_ in FILE_FORMATS if format_.name == "csv")


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.holds(
        a_view("/late", at="2026-11-12T09:00:00.5Z"),
        a_view("/early", at="2026-11-10T09:00:00Z"),
        an_event("bot", at="2026-11-11T09:00:00Z", is_bot=True),
        an_event("before", at="2026-10-31T22:59:59.999Z"),
        a_view("/theirs", website="rival"),
    )
    return running


def exported(
    service: InProcessService, table: str = "events", key: str = "acme", **query: str
) -> Any:
    parameters = {"website_id": "shop", **NOVEMBER, **query}
    return service.ask("GET", f"/v1/export/{table}", None, key, **parameters)


def lines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines()]


def test_rows_come_as_lines_in_the_order_of_time(service: InProcessService) -> None:
    reply = exported(service, columns="ts,path,is_bot")

    assert reply.headers["content-type"] == "application/x-ndjson"
    assert reply.headers["content-disposition"] == 'attachment; filename="events.ndjson"'
    assert lines(reply.body) == [
        {"ts": "2026-11-10T09:00:00.000Z", "path": "/early", "is_bot": False},
        {"ts": "2026-11-12T09:00:00.500Z", "path": "/late", "is_bot": False},
    ]


def test_days_are_those_of_the_zone_and_programs_are_there_when_asked(
    service: InProcessService,
) -> None:
    reply = exported(
        service,
        columns="name",
        startDate="2026-10-31",
        endDate="2026-11-11",
        timezone="Europe/Berlin",
        include_bots="true",
    )

    assert [row["name"] for row in lines(reply.body)] == ["before", "screen_view", "bot"]


def test_a_version_is_exported_again_as_it_was(service: InProcessService) -> None:
    version = service.query("summary_metrics").json["meta"]["versions"]["events"]
    service.holds(a_view("/later", at="2026-11-13T09:00:00Z"))

    then = lines(exported(service, columns="path", asOf=str(version)).body)
    now = lines(exported(service, columns="path").body)

    assert then == [{"path": "/early"}, {"path": "/late"}]
    assert now == [{"path": "/early"}, {"path": "/late"}, {"path": "/later"}]
    assert exported(service, asOf="99").json["error"] == (
        f"'asOf' is 99 for table 'events', whose newest version is {version + 1}"
    )


def test_filters_are_those_of_queries(service: InProcessService) -> None:
    wanted = json.dumps([{"field": "path", "operator": "starts_with", "value": "/l"}])
    reply = exported(service, columns="path", filters=wanted)

    assert lines(reply.body) == [{"path": "/late"}]


def test_all_columns_of_a_table_come_when_none_is_named(service: InProcessService) -> None:
    [row, _] = lines(exported(service).body)

    assert row["path"] == "/early"
    assert "website_id" not in row
    assert "visitor_hash" not in row
    assert row["country"] is None


@pytest.mark.parametrize("table", ["errors", "vitals", "outbound", "clicks"])
def test_every_stored_table_is_exported(service: InProcessService, table: str) -> None:
    service.holds(an_error("boom"), a_vital("LCP", 2.5), an_outbound_click("https://x.example/p"))
    service.holds(a_click(), a_click(link="away", organization="globex"))
    columns = {
        "errors": "message",
        "vitals": "metric_value",
        "outbound": "domain,text",
        "clicks": "slug",
    }

    rows = lines(exported(service, table, columns=columns[table]).body)

    expected = {
        "errors": {"message": "boom"},
        "vitals": {"metric_value": 2.5},
        "outbound": {"domain": "x.example", "text": "more"},
        "clicks": {"slug": "go"},
    }
    assert rows == [expected[table]]


def test_an_export_is_an_arrow_stream_or_a_parquet_file_too(service: InProcessService) -> None:
    arrow = pa.ipc.open_stream(exported(service, columns="path", format="arrow").body).read_all()
    parquet = pq.read_table(io.BytesIO(exported(service, columns="path", format="parquet").body))

    assert arrow.to_pydict() == parquet.to_pydict() == {"path": ["/early", "/late"]}


def test_an_export_without_rows_is_an_empty_file_of_its_format(service: InProcessService) -> None:
    reply = exported(service, "errors", columns="message,level", format="csv")

    assert (reply.status, reply.body) == (200, b"message,level\r\n")


@pytest.mark.parametrize(
    ("table", "query", "error_message"),
    [
        ("event", {}, "Unknown table 'event'; did you mean 'events'?"),
        (
            "events",
            {"columns": "contry"},
            "Unknown column 'contry' in table 'events'; did you mean 'country'?",
        ),
        ("events", {"columns": "path,path"}, "'columns' names 'path' twice"),
        (
            "events",
            {"asOf": "yesterday"},
            "'asOf' is 'yesterday'; it must be a version number from 'meta.versions', or all "
            "of that object",
        ),
        (
            "events",
            {"include_bots": "maybe"},
            "'include_bots' is 'maybe'; it must be true or false",
        ),
        (
            "events",
            {"format": "json"},
            "'format' is 'json'; it must be one of csv, ndjson, arrow, parquet, xlsx",
        ),
        (
            "events",
            {"filters": "["},
            "'filters' is not valid JSON: it ends too early",
        ),
    ],
)
def test_what_is_wrong_is_named(
    service: InProcessService, table: str, query: dict[str, str], error_message: str
) -> None:
    reply = exported(service, table, **query)

    assert reply.status == 400
    assert reply.json["error"] == error_message


@pytest.mark.parametrize(
    ("key", "subject", "status"),
    [
        ("globex", "shop", 403),
        ("acme-track", "shop", 403),
        ("acme-shop", "blog", 403),
        ("acme", "none", 403),
    ],
)
def test_an_export_reaches_what_its_key_reaches(
    service: InProcessService, key: str, subject: str, status: int
) -> None:
    assert exported(service, key=key, website_id=subject).status == status


def test_an_export_counts_as_a_custom_query(service: InProcessService) -> None:
    assert exported(service).headers["x-ratelimit-limit"] == "6000"


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
