"""The click queue while Kafka is unavailable: clicks wait, are retried, and are counted if lost."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from ingest.publishing import click_queue
from ingest.publishing.click_queue import ClickQueue, EncodedClick
from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus, PendingDelivery
from schemas.envelope import Envelope, encode_envelope
from tests.asgi_client import send_request
from tests.ingest.in_memory_collector import InMemoryProducer, in_memory_collector


def a_click(name: str) -> EncodedClick:
    return EncodedClick(3, encode_envelope(Envelope(name, "acme", 0, 1, b"[{}]")))


def sent(producer: InMemoryProducer) -> list[str]:
    return [one.envelopes[0].subject_id for one in producer.sent]


def run(test: Callable[[InMemoryProducer, ClickQueue], Coroutine[None, None, None]]) -> None:
    async def running() -> None:
        producer = InMemoryProducer()
        queue = ClickQueue(producer)
        await test(producer, queue)
        queue.close()

    asyncio.run(running())


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so, for ten seconds at most."""
    for _ in range(1_000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_queue, "RETRY_INTERVAL_SECONDS", 0.01)


def test_clicks_wait_in_order_until_kafka_is_available() -> None:
    async def test(producer: InMemoryProducer, queue: ClickQueue) -> None:
        producer.unavailable_reason = "away"
        for name in ("a", "b"):
            queue.record(a_click(name))
        await asyncio.sleep(0.05)
        assert (queue.waiting, sent(producer)) == (2, [])
        producer.unavailable_reason = None
        queue.record(a_click("c"))
        await until(lambda: queue.waiting == 0)
        assert (queue.waiting, queue.lost, sent(producer)) == (0, 0, ["a", "b", "c"])

    run(test)


def test_a_click_that_was_not_sent_is_retried() -> None:
    async def test(producer: InMemoryProducer, queue: ClickQueue) -> None:
        producer.outcome = DeliveryStatus.NOT_SENT
        queue.record(a_click("a"))
        await asyncio.sleep(0)
        producer.outcome = DeliveryStatus.ACKNOWLEDGED
        await until(lambda: len(sent(producer)) == 2 and queue.waiting == 0)
        assert (queue.waiting, queue.lost, sent(producer)) == (0, 0, ["a", "a"])

    run(test)


def test_a_click_that_kafka_may_have_is_not_retried() -> None:
    async def test(producer: InMemoryProducer, queue: ClickQueue) -> None:
        producer.outcome = DeliveryStatus.UNKNOWN
        queue.record(a_click("a"))
        await until(lambda: queue.unknown == 1)
        assert (queue.waiting, queue.lost, queue.unknown, sent(producer)) == (0, 0, 1, ["a"])

    run(test)


def test_the_queue_is_bounded_and_lost_clicks_are_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(click_queue, "MAX_WAITING_CLICKS", 2)

    async def test(producer: InMemoryProducer, queue: ClickQueue) -> None:
        producer.unavailable_reason = "away"
        for name in ("a", "b", "c", "d"):
            queue.record(a_click(name))
        assert (queue.waiting, queue.lost) == (2, 2)

    with caplog.at_level(logging.WARNING):
        run(test)
    # one line in ten seconds, however many are lost; one at the end
    assert [one.message for one in caplog.records] == [
        "clicks not counted",
        "clicks lost at shutdown",
    ]


def test_a_stopping_collector_sends_queued_clicks_or_counts_them() -> None:
    async def test(producer: InMemoryProducer, queue: ClickQueue) -> None:
        producer.unavailable_reason = "away"
        queue.record(a_click("a"))
        producer.unavailable_reason = None
        queue.close()
        assert (sent(producer), queue.lost) == (["a"], 0)
        producer.unavailable_reason = "away"
        queue.record(a_click("b"))
        queue.close()
        assert (queue.waiting, queue.lost) == (0, 1)

    run(test)


def test_clicks_that_the_last_flush_did_not_send_are_counted() -> None:
    async def test(producer: InMemoryProducer, queue: ClickQueue) -> None:
        late = [asyncio.get_running_loop().create_future() for _ in range(3)]
        answers = iter(late)
        producer.enqueue = lambda *_: PendingDelivery(next(answers), 0)  # type: ignore[method-assign]  # slow
        for name in ("a", "b", "c"):
            queue.record(a_click(name))
        queue.close()
        late[0].set_result(DeliveryReport(DeliveryStatus.ACKNOWLEDGED))
        late[1].set_result(DeliveryReport(DeliveryStatus.NOT_SENT))
        await asyncio.sleep(0)
        queue.count_unacknowledged()
        assert (queue.waiting, queue.lost, queue.unknown) == (0, 1, 1)

    run(test)


def test_redirects_work_without_kafka_and_health_counts_waiting_clicks(tmp_path: Path) -> None:
    collector = in_memory_collector(tmp_path)

    async def clicked() -> None:
        collector.producer.unavailable_reason = "Kafka is away"
        replies = [await send_request(collector.app, "GET", "/l/spring") for _ in range(3)]
        assert [reply.status for reply in replies] == [302, 302, 302]
        health = (await send_request(collector.app, "GET", "/health")).json
        assert health["counts"] == {"clicksWaiting": 3, "clicksLost": 0, "clicksUnknown": 0}

    asyncio.run(clicked())


def test_the_visitor_does_not_wait_for_a_slow_kafka(tmp_path: Path) -> None:
    collector = in_memory_collector(tmp_path)

    async def clicked() -> None:
        never: asyncio.Future[DeliveryReport] = asyncio.get_running_loop().create_future()
        collector.producer.enqueue = lambda *_: PendingDelivery(never, 0)  # type: ignore[method-assign]  # late
        assert (await send_request(collector.app, "GET", "/l/spring")).status == 302
        assert not never.done()
        never.set_result(DeliveryReport(DeliveryStatus.UNKNOWN))
        await asyncio.sleep(0)
        assert (await send_request(collector.app, "GET", "/health")).json["counts"][
            "clicksUnknown"
        ] == 1

    asyncio.run(clicked())
