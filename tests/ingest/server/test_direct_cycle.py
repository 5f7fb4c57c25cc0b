"""A request that waits without a coroutine: clients that leave, pipeline, or meet a shutdown."""

import asyncio

from ingest.publishing.partition_queue import (
    DeliveryReport,
    DeliveryStatus,
    PendingDelivery,
)
from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.server.in_process_connection import InProcessConnection, a_post

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


def test_a_client_that_left_gets_nothing_and_its_items_are_counted(
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
    assert len(collector.recent.latest("shop")) == 3


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
