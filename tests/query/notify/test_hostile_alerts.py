"""Alerts against strangers, tenants, and clocks: what is told, to whom, how often it is asked."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from query.notify import deliver, rules, saved_queries
from query.notify.alert_message import alert_message
from query.notify.channels import KINDS, OpenedChannel, Outgoing
from query.notify.deliver import Deliveries
from query.notify.saved_queries import SpanRows
from schemas.errors import Unavailable
from schemas.mail.message import Mail
from schemas.registry import Alert
from tests.query.lake import a_view, an_error, an_event
from tests.query.notify.test_rules import VIEWS, Checked, checked, day
from tests.query.notify.times import ms
from tests.query.query_service import NOW, InProcessService, reused, start_service

ERRORS = {"metrics": ["errors"], "dimensions": ["message"]}


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Locks of a service belong to one event loop."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def shop(service: InProcessService, runner: asyncio.Runner) -> Checked:
    return checked(service, runner)


class Mailbox:
    """Keeps mails."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []

    async def send(self, mail: Mail) -> None:
        self.mails.append(mail)


def delivering(shop: Checked) -> tuple[Mailbox, Deliveries]:
    """Deliveries of the service with a mailbox, at the time of the test."""
    mailbox = Mailbox()
    alerts_dependencies: Any = shop.alerts._dependencies
    dependencies = msgspec.structs.replace(
        alerts_dependencies,
        access=msgspec.structs.replace(alerts_dependencies.access, mailer=mailbox),
    )
    return mailbox, Deliveries(dependencies, shop.service.store.notices())


def states(shop: Checked, alert_id: str) -> list[tuple[str, str, str]]:
    """Target, state and problem of each delivery of the only notice."""
    [(_, deliveries)] = shop.service.store.notices().history(99, alert_id=alert_id)
    return [(one.kind, one.state, one.problem) for one in deliveries]


def save_channel(shop: Checked) -> str:
    body = {"name": "chat", "kind": "slack", "address": "https://hooks.slack.com/services/a/b"}
    reply = shop.service.ask("POST", "/v1/channels", body, key="acme-admin", website_id="shop")
    return str(reply.json["data"]["id"])


def test_texts_of_visitors_make_no_links_in_mails(shop: Checked) -> None:
    text = "Sign in again at https://thief.example/login\u202e or\nthief.example"
    shop.service.holds(an_error(text, at=day("02:10")))
    shop.save("new", metricsQuery=ERRORS)
    mailbox, deliveries = delivering(shop)

    shop.check(day("03:01"))
    shop.runner.run(deliveries.deliver_due())

    [mail] = mailbox.mails
    for body in (mail.text, mail.html):
        assert "thief" in body
        assert "thief.example" not in body
        assert "https://thief" not in body
        assert "\u202e" not in body


@pytest.mark.parametrize("kind", ["slack", "telegram", "teams", "ntfy", "discord"])
def test_texts_of_visitors_make_no_links_in_chats(shop: Checked, kind: str) -> None:
    shop.service.holds(an_error("See https://thief.example/a", at=day("02:10")))
    alert_id = shop.save("new", metricsQuery=ERRORS)
    shop.check(day("03:01"))
    [(notice, _)] = shop.service.store.notices().history(1, alert_id=alert_id)
    registry = shop.service.dependencies.registry
    alert = shop.service.store.get(Alert, alert_id)

    message = alert_message(shop.service.dependencies, alert, registry.websites["shop"], notice)
    opened = OpenedChannel(kind, "https://hooks.example/topic", "1:a", "-1")
    body = msgspec.json.encode(KINDS[kind].request(Outgoing(opened, message, "dlv_1")).body)

    assert b"thief" in body
    assert b"thief.example" not in body
    assert b"https://thief" not in body


def test_a_channel_that_was_removed_from_an_alert_is_told_no_more(shop: Checked) -> None:
    shop.service.holds(a_view("/", at=day("02:10")))
    alert_id = shop.save(
        "above",
        threshold=0,
        metricsQuery=VIEWS,
        quietHours="22:00-07:00",
        channels=[save_channel(shop)],
        recipients=[],
    )
    shop.check(day("03:01"))
    _, deliveries = delivering(shop)

    shop.change(alert_id, channels=[])
    shop.times.now_ms = ms(day("07:00"))
    shop.runner.run(deliveries.deliver_due())

    assert states(shop, alert_id) == [("slack", "failed", "The channel gets no more of these")]


def test_an_alert_that_is_muted_in_its_quiet_hours_tells_nobody(shop: Checked) -> None:
    shop.service.holds(a_view("/", at=day("02:10")))
    alert_id = shop.save("above", threshold=0, metricsQuery=VIEWS, quietHours="22:00-07:00")
    shop.check(day("03:01"))
    mailbox, deliveries = delivering(shop)

    shop.change(alert_id, mutedUntil="2026-12-01T00:00:00Z")
    shop.times.now_ms = ms(day("07:00"))
    shop.runner.run(deliveries.deliver_due())

    assert mailbox.mails == []
    assert states(shop, alert_id) == [("email", "failed", "The alert is muted")]


def test_a_limit_of_the_query_makes_no_row_of_the_days_before_new(shop: Checked) -> None:
    often = [an_error("boom", at=f"2026-11-{i:02}T02:30:00Z") for i in range(20, 30)]
    shop.service.holds(
        *often, an_error("bang", at="2026-11-25T02:30:00Z"), an_error("bang", at=day("02:10"))
    )
    alert_id = shop.save("new", metricsQuery={**ERRORS, "limit": 1})
    custom = {
        "table": "errors",
        "groupBy": ["message"],
        "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
        "orderBy": [{"field": "n", "direction": "desc"}],
    }
    other_id = shop.save("new", name="custom", customQuery={"query": custom, "limit": 1})
    standard = {"parameters": [{"name": "error_types", "limit": 1}]}
    third_id = shop.save("new", name="standard", standardQuery=standard)

    shop.check(day("03:01"))

    assert shop.told(alert_id) == []
    assert shop.told(other_id) == []
    assert shop.told(third_id) == []


def test_what_is_new_among_too_many_rows_is_not_said(
    shop: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "NEW_ROWS", 2)
    often = [an_error(text, at="2026-11-29T02:30:00Z") for text in ("a", "a", "b", "b", "c")]
    shop.service.holds(*often, an_error("c", at=day("02:10")))
    alert_id = shop.save("new", metricsQuery=ERRORS)

    shop.check(day("03:01"))

    assert shop.told(alert_id) == []
    assert shop.state(alert_id).problem.startswith("The 30 days before have 2 rows or more")


def test_a_clock_that_was_ahead_for_a_moment_silences_no_alert(shop: Checked) -> None:
    shop.service.holds(a_view("/", at=day("02:10")))
    alert_id = shop.save("above", threshold=0, metricsQuery=VIEWS)
    late_id = shop.save("above", name="late", threshold=300, signal="freshness")
    shop.check("2027-11-30T03:01:00Z")

    shop.check(day("03:01"), now=day("03:09"))
    shop.check(day("03:01"), now=day("03:10"))

    assert [event for event, *_ in shop.told(alert_id)] == ["fired"]
    assert [event for event, *_ in shop.told(late_id)] == ["fired"]


def test_an_alert_that_fails_each_time_is_asked_less_and_less_often(
    shop: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def time_out(*_: object) -> SpanRows:
        asked.append(shop.times.now_ms)
        raise Unavailable("The query took longer than 30 s")

    monkeypatch.setattr(rules, "ask", time_out)
    shop.save("above", threshold=0, metricsQuery=VIEWS, every="day")

    start = ms("2026-11-30T00:01:00Z")
    for minute in range(6 * 60):
        shop.times.now_ms = start + minute * 60_000
        shop.check(f"2026-11-30T{minute // 60:02}:{minute % 60:02}:59Z")

    assert len(asked) <= 30


def test_slow_alerts_of_one_organization_keep_no_other_waiting(
    shop: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.service.holds(a_view("/", website="rival", at=day("02:10")))
    ask = saved_queries.ask

    async def hang(dependencies: Any, website: Any, query: Any, spans: Any) -> SpanRows:
        if website.id == "shop":
            await asyncio.sleep(60)
        return await ask(dependencies, website, query, spans)

    async def for_two_seconds() -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(shop.alerts.check_due(), 2)

    monkeypatch.setattr(rules, "ask", hang)
    for i in range(8):
        shop.save("above", name=f"slow {i}", threshold=0, metricsQuery=VIEWS)
    good = Alert(
        id="alert_good",
        organization_id="globex",
        website_id="rival",
        created_at=NOW,
        updated_at=NOW,
        name="good",
        metrics_query=VIEWS,
        condition="above",
        threshold=0,
    )
    shop.service.store.create(good)
    shop.service.follower.refresh()
    shop.times.move(day("03:01"))
    shop.runner.run(for_two_seconds())

    assert [event for event, *_ in shop.told(good.id)] == ["fired"]


def test_a_round_ends_although_alerts_are_slow(
    shop: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.service.holds(a_view("/", at=day("02:10")))
    ask = saved_queries.ask

    async def late(*arguments: Any) -> SpanRows:
        await asyncio.sleep(0.3)
        return await ask(*arguments)

    monkeypatch.setattr(rules, "ask", late)
    monkeypatch.setattr(rules, "ROUND_SECONDS", 0.1)
    ids = [shop.save("above", name=f"slow {i}", threshold=0, metricsQuery=VIEWS) for i in range(4)]

    shop.check(day("03:01"))
    assert sum(len(shop.told(alert_id)) for alert_id in ids) == 2
    shop.check(day("03:01"))
    assert sum(len(shop.told(alert_id)) for alert_id in ids) == 4


def test_texts_of_visitors_fill_no_registry(shop: Checked) -> None:
    shop.service.holds(an_error("x" * 20_000, at=day("02:10")))
    alert_id = shop.save("new", metricsQuery=ERRORS)

    shop.check(day("03:01"))

    [(notice, _)] = shop.service.store.notices().history(9, alert_id=alert_id)
    assert len(notice.content["rows"][0]["message"]) == 500
    assert len(msgspec.json.encode(notice.content)) < 1_500


def test_a_huge_number_is_short_in_words(shop: Checked) -> None:
    shop.service.holds(
        an_event("purchase", at=day("02:10"), properties='{"total": 1e308}'),
    )
    selects = [{"field": "properties.total", "aggregate": "max", "alias": "n"}]
    query = {"query": {"table": "events", "selects": selects}}
    alert_id = shop.save("above", threshold=5, customQuery=query)

    shop.check(day("03:01"))

    [(_, _, text)] = shop.told(alert_id)
    assert text.startswith("1e+308 n from 02:00")


@pytest.mark.parametrize("condition", ["above", "nothing"])
def test_a_column_of_texts_is_a_problem_and_no_number(shop: Checked, condition: str) -> None:
    shop.service.holds(an_error("boom", at=day("02:10")))
    query = {"parameters": ["error_types"]}
    threshold: dict[str, Any] = {"threshold": 1} if condition == "above" else {}
    alert_id = shop.save(condition, standardQuery=query, column="name", **threshold)

    shop.check(day("03:01"))

    assert shop.told(alert_id) == []
    assert shop.state(alert_id).problem == "'column' is 'name', which is no number"


def test_new_rows_of_types_with_short_pages_are_found(shop: Checked) -> None:
    shop.service.holds(a_view("/", at=day("02:10")))
    alert_id = shop.save("new", standardQuery={"parameters": ["session_list"]})

    shop.check(day("03:01"))

    assert shop.state(alert_id).problem == ""
    assert [event for event, *_ in shop.told(alert_id)] == ["fired"]


def test_an_organization_sends_so_many_mails_an_hour(
    shop: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recipients are anybody's addresses, and an alert may fire every quarter of an hour."""
    monkeypatch.setattr(deliver, "MAX_MAILS_AN_HOUR", 3, raising=False)
    shop.service.holds(a_view("/", at=day("02:10")))
    people = [f"stranger{i}@elsewhere.example" for i in range(5)]
    alert_id = shop.save("above", threshold=0, metricsQuery=VIEWS, recipients=people)
    shop.check(day("03:01"))
    mailbox, deliveries = delivering(shop)

    shop.runner.run(deliveries.deliver_due())

    assert len(mailbox.mails) == 3
    problems = [one for one in states(shop, alert_id) if one[1] == "trying"]
    problem = "The organization has sent 3 mails in this hour; more are sent in the next"
    assert problems == [("email", "trying", problem)] * 2
    shop.times.now_ms = ms(day("04:00"))
    shop.runner.run(deliveries.deliver_due())
    assert len(mailbox.mails) == 5
