"""What receivers of an alert get, and what their replies bring about."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from query.notify.deliver import NO_MAIL, RESEALED, Deliveries
from schemas.registry import Alert, Channel
from schemas.registry.notices import Delivery, Notice, NoticeEvent, Target, new_notice
from tests.query.notify.receiver import Receiver, json_reply, receiving
from tests.query.query_service import NOW, InProcessService, start_service
from tests.smtp_server import SmtpServer

HOUR = (NOW - 3_200_000, NOW + 400_000)
"""From 00:00 to 01:00 of 30 November."""
MINUTE = 60_000
CONTENT: dict[str, Any] = {
    "value": 14.0,
    "reference": 10.0,
    "text": "14 errors from 00:00 to 01:00 on 30 November; the bound is 10",
    "rows": [],
}
OPS = "ops@shop.example"


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


@pytest.fixture
def service(tmp_path: Path, smtp: SmtpServer) -> InProcessService:
    return start_service(
        tmp_path,
        smtp_url=f"smtp://127.0.0.1:{smtp.port}",
        mail_from="stats@shop.example",
        webhook_networks="127.0.0.0/8",
        query_url="https://stats.shop.example",
    )


def save(service: InProcessService, path: str, **body: Any) -> dict[str, Any]:
    """A new record of the shop, as the response shows it."""
    reply = service.ask("POST", f"/v1/{path}", body, key="acme-admin", website_id="shop")
    assert reply.status == 201, reply.json
    data: dict[str, Any] = reply.json["data"]
    return data


def an_alert(service: InProcessService, **body: Any) -> str:
    """The id of a new alert."""
    members = {
        "name": "Many errors",
        "condition": "above",
        "threshold": 10,
        "metricsQuery": {"metrics": ["errors"]},
        **body,
    }
    return str(save(service, "alerts", **members)["id"])


def fires(service: InProcessService, alert_id: str, kind: str, target: str) -> Notice:
    """A notice of the alert that is due for one recipient or channel."""
    notice = new_notice(NoticeEvent.FIRED, "shop", HOUR, NOW, alert_id=alert_id, content=CONTENT)
    assert service.store.notices().add(notice, [Target(kind, target)], NOW)
    return notice


async def deliver(service: InProcessService, now_ms: int = NOW) -> int:
    dependencies = structs.replace(service.dependencies, clock=lambda: now_ms)
    return await Deliveries(dependencies, service.store.notices()).deliver_due()


def outcome(service: InProcessService, notice: Notice) -> Delivery:
    [delivery] = service.store.notices().deliveries_of(notice.id)
    return delivery


def to_channel(
    service: InProcessService, receiver: Receiver, kind: str = "webhook"
) -> tuple[dict[str, Any], Notice]:
    """A channel, and a notice that is due for it."""
    channel = save(service, "channels", name="c", kind=kind, address=f"{receiver.url}/hook")
    alert_id = an_alert(service, channels=[channel["id"]])
    return channel, fires(service, alert_id, kind, channel["id"])


def test_a_webhook_gets_signed_numbers(service: InProcessService) -> None:
    async def run() -> tuple[Receiver, dict[str, Any], Notice]:
        async with receiving() as receiver:
            channel, notice = await asyncio.to_thread(to_channel, service, receiver)
            assert [await deliver(service), await deliver(service)] == [1, 0]
            return receiver, channel, notice

    receiver, channel, notice = asyncio.run(run())

    delivery = outcome(service, notice)
    assert (delivery.state, delivery.delivered_at, delivery.attempts) == ("delivered", NOW, 1)
    [request] = receiver.requests
    headers = request.headers
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == (delivery.id, str(NOW // 1000))
    key = base64.b64decode(channel["secret"].removeprefix("whsec_"))
    signed = f"{delivery.id}.{NOW // 1000}.".encode() + request.body
    signature = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{signature}"
    assert request.json == {
        "type": "alert.fired",
        "id": delivery.id,
        "occurredAt": "2026-11-30T00:53:20.000Z",
        "website": "shop.example",
        "title": "Many errors · shop.example",
        "sentence": f"{CONTENT['text']}.",
        "facts": [
            {"label": "Website", "value": "shop.example"},
            {"label": "Condition", "value": "above 10"},
            {"label": "When", "value": "from 00:00 to 01:00 on 30 November (UTC)"},
        ],
        "link": "https://stats.shop.example/shop/errors",
        "data": {
            "alert": {"id": notice.alert_id, "name": "Many errors", "condition": "above"},
            "website": {"id": "shop", "domain": "shop.example"},
            "start": "2026-11-30T00:00:00.000Z",
            "end": "2026-11-30T01:00:00.000Z",
            "value": 14.0,
            "reference": 10.0,
            "rows": [],
        },
    }


def test_a_receiver_says_when_to_try_again(service: InProcessService) -> None:
    async def run() -> Notice:
        reply = json_reply("429 Too Many Requests", {}, "retry-after: 600")
        async with receiving(reply) as receiver:
            _, notice = await asyncio.to_thread(to_channel, service, receiver)
            await deliver(service)
            return notice

    notice = asyncio.run(run())

    assert outcome(service, notice).due_at == NOW + 10 * MINUTE


def test_a_receiver_that_is_gone_is_given_up(service: InProcessService) -> None:
    async def run() -> Notice:
        async with receiving(json_reply("410 Gone", {})) as receiver:
            _, notice = await asyncio.to_thread(to_channel, service, receiver)
            await deliver(service)
            return notice

    delivery = outcome(service, asyncio.run(run()))

    assert (delivery.state, delivery.due_at, delivery.failed_at) == ("failed", None, NOW)
    assert "410" in delivery.problem


def test_secrets_of_another_registry_are_a_problem_with_a_name(service: InProcessService) -> None:
    async def run() -> tuple[Receiver, Notice]:
        async with receiving() as receiver:
            channel, notice = await asyncio.to_thread(to_channel, service, receiver)
            stored = service.store.get(Channel, channel["id"])
            spoiled = structs.replace(stored, signing_secret="sealed elsewhere")
            service.store.revise(stored, NOW, lambda _: spoiled)
            service.follower.refresh()
            await deliver(service)
            return receiver, notice

    receiver, notice = asyncio.run(run())

    assert receiver.requests == []
    assert (outcome(service, notice).state, outcome(service, notice).problem) == (
        "failed",
        RESEALED,
    )


def test_a_mail_has_the_numbers_and_an_end(service: InProcessService, smtp: SmtpServer) -> None:
    notice = fires(service, an_alert(service, recipients=[OPS]), "email", OPS)

    assert asyncio.run(deliver(service)) == 1

    delivery = outcome(service, notice)
    [mail] = smtp.messages
    assert delivery.state == "delivered"
    assert (mail["To"], mail["Subject"]) == (OPS, "Many errors · shop.example")
    assert delivery.id in mail["Message-ID"]
    assert mail["List-Unsubscribe"].startswith("<https://stats.shop.example/v1/unsubscribe?token=")
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    text = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "14 errors from 00:00 to 01:00 on 30 November; the bound is 10." in text
    assert "above 10" in text


def test_a_refused_recipient_is_told_in_the_history(tmp_path: Path) -> None:
    with SmtpServer(replies={"RCPT": "550 5.1.1 No such user"}) as smtp:
        service = start_service(
            tmp_path, smtp_url=f"smtp://127.0.0.1:{smtp.port}", mail_from="stats@shop.example"
        )
        notice = fires(service, an_alert(service, recipients=[OPS]), "email", OPS)
        asyncio.run(deliver(service))

    delivery = outcome(service, notice)
    assert delivery.delivered_at is None
    assert "550" in delivery.problem


def test_without_a_mail_server_the_history_says_so(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    notice = fires(service, an_alert(service, recipients=[OPS]), "email", OPS)

    asyncio.run(deliver(service))

    assert (outcome(service, notice).state, outcome(service, notice).problem) == (
        "trying",
        NO_MAIL,
    )


def test_what_a_deleted_alert_had_to_tell_is_gone(
    service: InProcessService, smtp: SmtpServer
) -> None:
    alert_id = an_alert(service, recipients=[OPS])
    fires(service, alert_id, "email", OPS)
    service.store.delete(Alert, alert_id)
    service.follower.refresh()

    assert asyncio.run(deliver(service)) == 0
    assert smtp.messages == []


def test_of_processes_that_deliver_at_once_one_sends(
    service: InProcessService, smtp: SmtpServer
) -> None:
    notice = fires(service, an_alert(service, recipients=[OPS]), "email", OPS)

    async def both() -> None:
        await asyncio.gather(deliver(service), deliver(service), deliver(service))

    asyncio.run(both())

    assert len(smtp.messages) == 1
    assert outcome(service, notice).attempts == 1
