"""GET /l/{slug}: where it leads, and the click that it leaves."""

import asyncio
import logging
import stat
from pathlib import Path

import pytest

from ingest.lanes import Answer, Outcome, Ticket
from ingest.visitor import Visitors, read_secret
from tests.asgi import ask, request
from tests.ingest.bench import NOW, Bench, bench

DAY_MS = 86_400_000


@pytest.fixture
def desk(tmp_path: Path) -> Bench:
    return bench(tmp_path)


def test_a_click_is_recorded_and_sent_on(desk: Bench, tmp_path: Path) -> None:
    headers = {"referer": "https://news.example/", "user-agent": "Firefox"}

    reply = ask(desk.app, "GET", "/l/spring", headers=headers)

    assert (reply.status, reply.headers["location"]) == (302, "https://t.example/a?b=c")
    assert reply.headers["cache-control"] == "private, no-store"
    assert reply.headers["x-ratelimit-limit"] == "6000"
    [sent] = desk.outbox.sent
    [envelope] = sent.envelopes
    visitor = Visitors(read_secret(tmp_path / "visitors.secret")).name(
        "203.0.113.0", "Firefox", NOW
    )
    assert sent.topic == "clicks"
    assert (envelope.subject_id, envelope.organization_id, envelope.count) == ("lnk_1", "acme", 1)
    assert (envelope.address, envelope.user_agent) == ("203.0.113.0", "Firefox")
    assert [{k: v for k, v in item.items() if v is not None} for item in sent.items] == [
        {
            "slug": "spring",
            "timestamp": NOW,
            "anonymousId": visitor,
            "referrer": "https://news.example/",
        }
    ]


def test_a_look_at_the_head_is_no_click(desk: Bench) -> None:
    reply = ask(desk.app, "HEAD", "/l/spring")

    assert (reply.status, reply.headers["location"]) == (302, "https://t.example/a?b=c")
    assert desk.outbox.sent == []


def test_an_unknown_slug_is_not_found(desk: Bench) -> None:
    reply = ask(desk.app, "GET", "/l/nothing")

    assert reply.status == 404
    assert reply.json == {"status": "error", "message": "No such link", "code": "NOT_FOUND"}


def test_an_expired_link_leads_nowhere(desk: Bench) -> None:
    reply = ask(desk.app, "GET", "/l/gone")

    assert (reply.status, reply.json["message"]) == (404, "This link has expired")
    assert desk.outbox.sent == []


def test_an_expired_link_may_lead_elsewhere(desk: Bench) -> None:
    reply = ask(desk.app, "GET", "/l/moved")

    assert (reply.status, reply.headers["location"]) == (302, "https://t.example/over")


@pytest.mark.parametrize(
    ("agent", "target"),
    [
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)", "https://apps.example/ios"),
        ("Mozilla/5.0 (Linux; Android 15; Pixel 9)", "https://apps.example/android"),
        ("Mozilla/5.0 (Windows NT 10.0)", "https://t.example/a?b=c"),
    ],
)
def test_a_phone_is_sent_to_its_own_address(desk: Bench, agent: str, target: str) -> None:
    reply = ask(desk.app, "GET", "/l/app", headers={"user-agent": agent})

    assert reply.headers["location"] == target


def test_the_visitor_goes_on_when_kafka_is_away(
    desk: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    desk.outbox.refusing = "away"

    with caplog.at_level(logging.WARNING):
        replies = [ask(desk.app, "GET", "/l/spring") for _ in range(3)]

    assert [reply.status for reply in replies] == [302, 302, 302]
    # one line in ten seconds, however many are lost
    assert [record.message for record in caplog.records] == ["click lost"]


def test_the_visitor_does_not_wait_for_a_slow_kafka(
    desk: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async def clicked() -> int:
        never = asyncio.get_running_loop().create_future()
        desk.outbox.put = lambda *_: Ticket(never, 0)  # type: ignore[method-assign]  # an answer that is late
        reply = await request(desk.app, "GET", "/l/spring")
        assert not never.done()
        never.set_result(Answer(Outcome.UNKNOWN))
        await asyncio.sleep(0)
        return reply.status

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(clicked()) == 302

    assert [record.message for record in caplog.records] == ["click lost"]


def test_a_visitor_has_one_name_a_day_and_another_tomorrow() -> None:
    visitors = Visitors(b"k" * 32)
    name = visitors.name("203.0.113.0", "Firefox", NOW)

    assert name == visitors.name("203.0.113.0", "Firefox", NOW + 1)
    assert len(name) == 32
    others = {
        visitors.name("203.0.113.0", "Firefox", NOW + DAY_MS),
        visitors.name("203.0.112.0", "Firefox", NOW),
        visitors.name("203.0.113.0", "Chrome", NOW),
        Visitors(b"l" * 32).name("203.0.113.0", "Firefox", NOW),
    }
    assert len(others | {name}) == 5


def test_the_secret_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    secret = read_secret(tmp_path / "new" / "visitors.secret")

    assert read_secret(tmp_path / "new" / "visitors.secret") == secret
    assert len(secret) == 32
    [path] = (tmp_path / "new").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
