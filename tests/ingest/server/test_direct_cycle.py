"""A request that waits without a coroutine: clients that leave, pipeline, or meet a shutdown."""

import asyncio
from typing import NoReturn

import msgspec
import pytest

from ingest.decoding.decoder import Decoder
from ingest.publishing.partition_queue import (
    DeliveryReport,
    DeliveryStatus,
    PendingDelivery,
)
from ingest.publishing.publish import Publisher
from schemas.envelope import EnvelopeTemplate
from schemas.telemetry.instruments import REGISTRY
from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.server.in_process_connection import InProcessConnection, a_post, exchange

PLAIN = a_post(b'{"name": "plain", "anonymousId": "v1"}')


class HeldConnection(InProcessConnection):
    """A connection whose second request waits for `acknowledge`."""

    def __init__(self, collector: InMemoryCollector) -> None:
        super().__init__(collector)
        self.held: asyncio.Future[DeliveryReport] = asyncio.get_running_loop().create_future()
        self.producer = collector.producer

    async def begin(self) -> None:
        await self.send(PLAIN)
        enqueue = self.producer.enqueue

        def hold(*request: object) -> PendingDelivery:
            self.producer.enqueue = enqueue  # type: ignore[method-assign]
            enqueue(*request)  # type: ignore[arg-type]
            return PendingDelivery(self.held, 0)

        self.producer.enqueue = hold  # type: ignore[method-assign,assignment]
        assert await self.send(PLAIN) == b""
        assert self.paths == ["/track"]
        assert len(self.state.tasks) == 1

    def acknowledge(self, status: DeliveryStatus = DeliveryStatus.ACKNOWLEDGED) -> None:
        self.held.set_result(DeliveryReport(status, 1, 7))


def test_a_client_that_left_gets_nothing_and_its_items_or_error_are_counted(
    collector: InMemoryCollector,
) -> None:
    async def run() -> None:
        for status in (DeliveryStatus.ACKNOWLEDGED, DeliveryStatus.UNKNOWN):
            connection = HeldConnection(collector)
            await connection.begin()
            connection.protocol.connection_lost(None)
            before = connection.wire.written
            connection.acknowledge(status)
            assert await connection.send() == b""
            assert connection.wire.written == before
            assert not connection.state.tasks

    asyncio.run(run())
    error, *published = collector.recent.latest("shop")
    assert error.error is not None
    assert error.error.code == "OUTCOME_UNKNOWN"
    assert len(published) == 3


def test_requests_that_came_meanwhile_are_answered_after_it(collector: InMemoryCollector) -> None:
    async def run(status: DeliveryStatus) -> bytes:
        connection = HeldConnection(collector)
        await connection.begin()
        assert await connection.send(PLAIN + PLAIN) == b""
        connection.acknowledge(status)
        return await connection.send()

    written = asyncio.run(run(DeliveryStatus.ACKNOWLEDGED))
    assert written.count(b"HTTP/1.1 200 OK") == 3
    written = asyncio.run(run(DeliveryStatus.UNKNOWN))
    assert written.startswith(b"HTTP/1.1 503")
    assert written.count(b"HTTP/1.1 200 OK") == 2


def test_a_shutdown_that_takes_long_cancels_it(collector: InMemoryCollector) -> None:
    async def run() -> None:
        connection = HeldConnection(collector)
        await connection.begin()
        [task] = connection.state.tasks
        task.cancel(msg="Task cancelled, timeout graceful shutdown exceeded")
        connection.acknowledge()
        assert await connection.send() == b""
        assert not connection.state.tasks

    asyncio.run(run())


@pytest.mark.parametrize("status", [DeliveryStatus.ACKNOWLEDGED, DeliveryStatus.UNKNOWN])
def test_a_shutdown_closes_the_connection_after_the_response(
    collector: InMemoryCollector, status: DeliveryStatus
) -> None:
    async def run() -> bytes:
        connection = HeldConnection(collector)
        await connection.begin()
        connection.protocol.shutdown()
        assert not connection.wire.closed
        connection.acknowledge(status)
        response = await connection.send()
        assert connection.wire.closed
        return response

    head, _, body = asyncio.run(run()).partition(b"\r\n\r\n")
    assert head.count(b"connection: close") == 1
    assert body.startswith(b'{"status":')


def test_while_the_process_drains_responses_close_the_connection(
    collector: InMemoryCollector,
) -> None:
    async def run() -> bytes:
        connection = InProcessConnection(collector)
        await connection.send(PLAIN)
        connection.drain.begun = True
        response = await connection.send(PLAIN)
        assert connection.wire.closed
        return response

    assert b"connection: close" in asyncio.run(run())


def failures() -> float:
    return REGISTRY.get_sample_value("tidemark_direct_failures_total") or 0.0


def bug(*_: object) -> NoReturn:
    raise RuntimeError("a bug")


def is_internal_error(response: bytes) -> bool:
    head, _, body = response.partition(b"\r\n\r\n")
    names = {line.partition(b":")[0] for line in head.split(b"\r\n")[1:]}
    assert names >= {b"x-request-id", b"x-ratelimit-limit", b"access-control-allow-origin"}
    error = msgspec.json.decode(body)
    return head.startswith(b"HTTP/1.1 500 ") and error["status"] == "error"


def test_an_unexpected_error_before_it_was_queued_leaves_it_to_the_endpoint(
    collector: InMemoryCollector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> tuple[bytes, InProcessConnection]:
        connection = InProcessConnection(collector)
        await connection.send(PLAIN)
        monkeypatch.setattr(Decoder, "decode_plain", bug)
        return await connection.send(PLAIN), connection

    before = failures()
    response, connection = asyncio.run(run())

    assert response.startswith(b"HTTP/1.1 200 OK")
    assert connection.paths == ["/track"] * 2
    assert not connection.wire.closed
    assert len(collector.producer.sent) == 2
    assert failures() == before + 1
    assert "a bug" in caplog.text


def test_an_unexpected_error_of_the_preparation_harms_no_request(
    collector: InMemoryCollector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(EnvelopeTemplate, "__init__", bug)
    before = failures()

    responses, ran = exchange(collector, [PLAIN] * 3)

    assert [response.count(b"HTTP/1.1 200 OK") for response in responses] == [1, 1, 1]
    assert ran == 3
    assert failures() == before + 2
    assert "a bug" in caplog.text


@pytest.mark.parametrize("name", ["enqueue", "acknowledged"])
def test_an_unexpected_error_afterwards_is_500_and_the_connection_stays(
    collector: InMemoryCollector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    async def run() -> tuple[bytes, bytes, InProcessConnection]:
        connection = InProcessConnection(collector)
        await connection.send(PLAIN)
        with monkeypatch.context() as patch:
            patch.setattr(Publisher, name, bug)
            failed = await connection.send(PLAIN)
        return failed, await connection.send(PLAIN), connection

    failed, later, connection = asyncio.run(run())

    assert is_internal_error(failed)
    assert "a bug" in caplog.text
    assert later.startswith(b"HTTP/1.1 200 OK")
    assert connection.paths == ["/track"]
    assert not connection.wire.closed
    [family] = collector.app.requests.collect()
    statuses = {sample.labels["status"] for sample in family.samples if sample.value}
    assert statuses == {"200", "500"}
