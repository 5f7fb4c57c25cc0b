"""The client of Trino's protocol: pages, errors, limits, and what nobody reads any more."""

import asyncio
from contextlib import aclosing

import pytest

from query.engine.trino.address import parse_address
from query.engine.trino.client import Page, TrinoClient, TrinoError, TrinoUnreachable
from schemas.runtime.settings import Settings
from schemas.telemetry.opentelemetry_tracer import open_tracer
from schemas.telemetry.spans import running
from tests.installation import free_port
from tests.query.engine.trino.coordinator import Coordinator, coordinator

COLUMNS = [{"name": "n", "type": "bigint"}]
WAIT_SECONDS = 60.0


def client_of(played: Coordinator) -> TrinoClient:
    return TrinoClient(parse_address(played.address))


def read(client: TrinoClient, text: str = "SELECT 1", seconds: float = 10.0) -> list[Page]:
    async def pages() -> list[Page]:
        return [page async for page in client.pages(text, seconds, "acme")]

    return asyncio.run(pages())


def test_pages_are_read_to_the_end() -> None:
    with coordinator({}, {"columns": COLUMNS, "data": [[1], [2]]}, 503, {}) as played:
        pages = read(client_of(played))

    assert [page.rows for page in pages] == [[[1], [2]]]
    assert played.statements == ["SELECT 1"]
    assert not played.cancelled.is_set()


def test_a_statement_has_its_user_its_schema_and_its_limit() -> None:
    with coordinator() as played:
        read(client_of(played), seconds=2.5)

    [headers] = played.headers
    sent = {name: headers[f"X-Trino-{name}"] for name in ("User", "Catalog", "Schema", "Session")}
    assert sent == {
        "User": "ana",
        "Catalog": "lake",
        "Schema": "tidemark",
        "Session": "query_max_run_time=2.500s,query_max_stage_count=600",
    }
    assert headers["X-Trino-Client-Tags"] == "organization:acme"
    assert headers["X-Trino-Source"] == "tidemark:acme"
    assert headers["X-Trino-Time-Zone"] == "UTC"


def test_traces_of_the_server_continue_the_span_that_waits() -> None:
    tracer = open_tracer(Settings(traces="http://127.0.0.1:9"), "query", "query-1")
    with coordinator() as played:
        with running(tracer.request("POST /v1/query", None, {})) as span:
            read(client_of(played))
        read(client_of(played))

    assert span is not None
    of_span, of_none = played.headers
    assert of_span["traceparent"] == span.traceparent.decode()
    assert "traceparent" not in of_none


def test_an_error_has_its_name() -> None:
    error = {"message": "too long", "errorName": "EXCEEDED_TIME_LIMIT", "errorType": "INSUFFICIENT"}
    with coordinator({}, {"error": error}) as played, pytest.raises(TrinoError) as raised:
        read(client_of(played))

    assert (raised.value.name, raised.value.kind) == ("EXCEEDED_TIME_LIMIT", "INSUFFICIENT")


def test_a_coordinator_that_is_away_is_unreachable() -> None:
    client = TrinoClient(parse_address(f"trino://ana@127.0.0.1:{free_port()}/lake.tidemark"))

    with pytest.raises(TrinoUnreachable):
        read(client)


def test_a_statement_that_is_not_read_to_its_end_is_cancelled() -> None:
    page = {"columns": COLUMNS, "data": [[1]]}

    async def first(client: TrinoClient) -> Page:
        async with aclosing(client.pages("SELECT 1", 10.0)) as pages:
            return await anext(pages)

    with coordinator(page, page, page) as played:
        asyncio.run(first(client_of(played)))

        assert played.cancelled.wait(WAIT_SECONDS)


def test_a_statement_of_a_caller_that_is_gone_is_cancelled() -> None:
    async def leave(client: TrinoClient, played: Coordinator) -> None:
        async def wait() -> None:
            async for _ in client.pages("SELECT 1", 60.0):
                pass

        task = asyncio.create_task(wait())
        await asyncio.to_thread(played.asked.wait, WAIT_SECONDS)
        task.cancel()
        await asyncio.wait([task])

    with coordinator({}, {}) as played:
        played.silent.set()
        asyncio.run(leave(client_of(played), played))

        assert played.cancelled.wait(WAIT_SECONDS)
