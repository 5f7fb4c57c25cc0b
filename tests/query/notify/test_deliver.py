"""Deliveries of notices: tried until a receiver has them, and told to nobody who left."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from query.notify.deliver import Deliveries
from schemas.mail.mailer import open_mailer
from schemas.registry.notices import Delivery, Notice
from schemas.runtime.networks import parse_networks
from schemas.runtime.settings import Settings
from tests.installation import free_port
from tests.query.notify.webhook_receiver import WebhookReceiver
from tests.query.query_service import NOW, InProcessService, start_service
from tests.smtp_server import SmtpServer

MINUTE = 60_000
LOOPBACK = parse_networks("127.0.0.0/8")


class Delivering(Struct):
    """A service whose deliveries are tried at given times."""

    service: InProcessService
    runner: asyncio.Runner
    time: list[int]

    def save(self, path: str, **body: Any) -> dict[str, Any]:
        reply = self.service.ask("POST", path, body, key="acme-admin", website_id="shop")
        assert reply.status == 201, reply.json
        made: dict[str, Any] = reply.json["data"]
        return made

    def test(self, **targets: Any) -> str:
        """The id of a new alert whose test is due."""
        alert = self.save("/v1/alerts", name="Silent", condition="nothing", **targets)
        told = self.service.ask("POST", f"/v1/alerts/{alert['id']}/test", key="acme-admin")
        assert told.status == 200, told.json
        return str(alert["id"])

    def deliver(self, minutes: float, smtp_port: int = 1) -> None:
        """Try what is due so many minutes after the test, with a mail server at that port."""
        self.time[0] = NOW + round(minutes * MINUTE)
        settings = Settings(smtp_url=f"smtp://127.0.0.1:{smtp_port}", mail_from="a@shop.example")
        access = structs.replace(self.service.dependencies.access, mailer=open_mailer(settings))
        dependencies = structs.replace(
            self.service.dependencies,
            access=access,
            webhook_networks=LOOPBACK,
            clock=lambda: self.time[0],
        )
        deliveries = Deliveries(dependencies, self.service.store.notices())
        self.runner.run(deliveries.deliver_due())

    def only(self, alert_id: str) -> Delivery:
        [(_, [delivery])] = self._history(alert_id)
        return delivery

    def _history(self, alert_id: str) -> list[tuple[Notice, list[Delivery]]]:
        newest = self.service.store.notices().history(9, alert_id=alert_id)
        return [(notice, [*deliveries]) for notice, deliveries in newest]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Delivering]:
    with asyncio.Runner() as runner:
        yield Delivering(start_service(tmp_path), runner, [NOW])


def test_a_mail_waits_for_a_mail_server_that_is_away(shop: Delivering) -> None:
    alert = shop.test(recipients=["ops@shop.example"])
    away = free_port()

    shop.deliver(0, away)
    refused = shop.only(alert)
    with SmtpServer() as smtp:
        shop.deliver(1.9, smtp.port)
        early = len(smtp.messages)
        shop.deliver(2, smtp.port)
        shop.deliver(60, smtp.port)
        [mail] = smtp.messages

    assert (refused.state, refused.attempts, refused.due_at) == ("trying", 1, NOW + 2 * MINUTE)
    assert refused.problem == "the mail server cannot be reached"
    assert early == 0
    delivered = shop.only(alert)
    assert (delivered.state, delivered.attempts, delivered.problem) == ("delivered", 2, "")
    assert mail["To"] == "ops@shop.example"
    assert mail["Subject"] == "Test: Silent · shop.example"
    assert mail["Message-ID"] == f"<{delivered.id}@shop.example>"


def test_a_receiver_that_never_answers_is_given_up_after_a_day(shop: Delivering) -> None:
    alert, away = shop.test(recipients=["ops@shop.example"]), free_port()

    for minutes in (0, 2, 7, 22, 82, 262, 622, 1342):
        assert shop.only(alert).due_at == NOW + minutes * MINUTE
        shop.deliver(minutes, away)

    given_up = shop.only(alert)
    assert (given_up.state, given_up.attempts, given_up.due_at) == ("failed", 8, None)


def test_a_webhook_gets_a_signed_test(shop: Delivering) -> None:
    with WebhookReceiver() as webhook:
        channel = shop.save("/v1/channels", name="hook", kind="webhook", address=webhook.url)
        alert = shop.test(channels=[channel["id"]])

        shop.deliver(0)
        shop.deliver(60)

    [request] = webhook.requests
    assert shop.only(alert).state == "delivered"
    assert request.headers["webhook-id"] == shop.only(alert).id
    assert (request.json["type"], request.json["title"]) == (
        "alert.test",
        "Test: Silent · shop.example",
    )


def test_nobody_is_told_who_left_meanwhile(shop: Delivering) -> None:
    alert = shop.test(recipients=["ops@shop.example"])
    shop.service.ask("PATCH", f"/v1/alerts/{alert}", {"recipients": []}, key="acme-admin")

    with SmtpServer() as smtp:
        shop.deliver(0, smtp.port)

    assert smtp.messages == []
    assert (shop.only(alert).state, shop.only(alert).problem) == (
        "failed",
        "The recipient gets no more of these mails",
    )


def test_a_deleted_channel_is_named_as_the_problem(shop: Delivering) -> None:
    with WebhookReceiver() as webhook:
        channel = shop.save("/v1/channels", name="hook", kind="webhook", address=webhook.url)
        alert = shop.test(channels=[channel["id"]])
        shop.service.ask("DELETE", f"/v1/channels/{channel['id']}", key="acme-admin")

        shop.deliver(0)

    assert webhook.requests == []
    assert (shop.only(alert).state, shop.only(alert).problem) == (
        "failed",
        "The channel was deleted",
    )
