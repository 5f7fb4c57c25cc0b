"""Clicks while Kafka is away: they wait, are sent when it is back, and are counted when lost."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from ingest.links import click_queue
from ingest.links.click_queue import Clicks, Sealed
from ingest.publishing.partition_queue import Answer, Outcome, Ticket
from schemas.envelope import Envelope, seal
from tests.asgi_client import request
from tests.ingest.in_memory_collector import ListOutbox, bench


def a_click(name: str) -> Sealed:
    return Sealed(3, seal(Envelope(name, "acme", 0, 1, b"[{}]")))


def sent(outbox: ListOutbox) -> list[str]:
    return [one.envelopes[0].subject_id for one in outbox.sent]


def run(test: Callable[[ListOutbox, Clicks], Coroutine[None, None, None]]) -> None:
    async def running() -> None:
        outbox = ListOutbox()
        kept = Clicks(outbox)
        await test(outbox, kept)
        kept.close()

    asyncio.run(running())


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_queue, "AGAIN_SECONDS", 0.01)


def test_clicks_wait_until_kafka_is_back_in_the_order_in_which_they_came() -> None:
    async def test(outbox: ListOutbox, kept: Clicks) -> None:
        outbox.refusing = "away"
        for name in ("a", "b"):
            kept.record(a_click(name))
        await asyncio.sleep(0.05)
        assert (kept.waiting, sent(outbox)) == (2, [])
        outbox.refusing = None
        kept.record(a_click("c"))
        await asyncio.sleep(0.05)
        assert (kept.waiting, kept.lost, sent(outbox)) == (0, 0, ["a", "b", "c"])

    run(test)


def test_a_click_that_never_left_is_sent_again() -> None:
    async def test(outbox: ListOutbox, kept: Clicks) -> None:
        outbox.outcome = Outcome.NOT_SENT
        kept.record(a_click("a"))
        await asyncio.sleep(0)
        outbox.outcome = Outcome.ACKNOWLEDGED
        await asyncio.sleep(0.05)
        assert (kept.waiting, kept.lost, sent(outbox)) == (0, 0, ["a", "a"])

    run(test)


def test_a_click_that_kafka_may_have_is_not_sent_again() -> None:
    async def test(outbox: ListOutbox, kept: Clicks) -> None:
        outbox.outcome = Outcome.UNKNOWN
        kept.record(a_click("a"))
        await asyncio.sleep(0.05)
        assert (kept.waiting, kept.lost, kept.unknown, sent(outbox)) == (0, 0, 1, ["a"])

    run(test)


def test_only_so_many_wait_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(click_queue, "MOST_WAITING", 2)

    async def test(outbox: ListOutbox, kept: Clicks) -> None:
        outbox.refusing = "away"
        for name in ("a", "b", "c", "d"):
            kept.record(a_click(name))
        assert (kept.waiting, kept.lost) == (2, 2)

    with caplog.at_level(logging.WARNING):
        run(test)
    # one line in ten seconds, however many are lost; one at the end
    assert [one.message for one in caplog.records] == [
        "clicks not counted",
        "clicks lost at the end",
    ]


def test_a_collector_that_stops_sends_what_waits_or_counts_it() -> None:
    async def test(outbox: ListOutbox, kept: Clicks) -> None:
        outbox.refusing = "away"
        kept.record(a_click("a"))
        outbox.refusing = None
        kept.close()
        assert (sent(outbox), kept.lost) == (["a"], 0)
        outbox.refusing = "away"
        kept.record(a_click("b"))
        kept.close()
        assert (kept.waiting, kept.lost) == (0, 1)

    run(test)


def test_what_the_last_flush_did_not_send_is_counted() -> None:
    async def test(outbox: ListOutbox, kept: Clicks) -> None:
        late = [asyncio.get_running_loop().create_future() for _ in range(3)]
        answers = iter(late)
        outbox.put = lambda *_: Ticket(next(answers), 0)  # type: ignore[method-assign]  # slow
        for name in ("a", "b", "c"):
            kept.record(a_click(name))
        kept.close()
        late[0].set_result(Answer(Outcome.ACKNOWLEDGED))
        late[1].set_result(Answer(Outcome.NOT_SENT))
        await asyncio.sleep(0)
        kept.settle()
        assert (kept.waiting, kept.lost, kept.unknown) == (0, 1, 1)

    run(test)


def test_the_visitor_waits_for_nothing_and_health_tells_what_waits(tmp_path: Path) -> None:
    desk = bench(tmp_path)

    async def clicked() -> None:
        desk.outbox.refusing = "Kafka is away"
        replies = [await request(desk.app, "GET", "/l/spring") for _ in range(3)]
        assert [reply.status for reply in replies] == [302, 302, 302]
        health = (await request(desk.app, "GET", "/health")).json
        assert health["counts"] == {"clicksWaiting": 3, "clicksLost": 0, "clicksUnknown": 0}

    asyncio.run(clicked())


def test_the_visitor_does_not_wait_for_a_slow_kafka(tmp_path: Path) -> None:
    desk = bench(tmp_path)

    async def clicked() -> None:
        never: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        desk.outbox.put = lambda *_: Ticket(never, 0)  # type: ignore[method-assign]  # late
        assert (await request(desk.app, "GET", "/l/spring")).status == 302
        assert not never.done()
        never.set_result(Answer(Outcome.UNKNOWN))
        await asyncio.sleep(0)
        assert (await request(desk.app, "GET", "/health")).json["counts"]["clicksUnknown"] == 1

    asyncio.run(clicked())
