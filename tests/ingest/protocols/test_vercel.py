"""Vercel's drains: what they become, their signatures, and the look at the address of a new one."""

import hashlib
import hmac
import json

import pytest

from ingest.protocols.vercel import NOT_SIGNED, VERCEL, drain_secret
from tests.http_client import Reply
from tests.ingest.in_memory_collector import NOW, InMemoryCollector
from tests.ingest.protocols.test_hostile_input import hostile_bodies

PATH = "/vercel/drain?website_id=shop-drain"
VIEW = {
    "schema": "vercel.analytics.v1", "eventType": "pageview", "timestamp": NOW, "sessionId": 1,
    "deviceId": 2, "origin": "https://shop.example", "path": "/cart", "queryParams": "a=1",
}  # fmt: skip
CLICK = {**VIEW, "eventType": "event", "eventName": "Click", "eventData": {"x": "\ud800"}}
LINES = b"\n".join(json.dumps(one).encode() for one in (VIEW, CLICK))


def signature(collector: InMemoryCollector, body: bytes, alias: str = "shop-drain") -> str:
    """What Vercel computes with the secret that was entered there."""
    installation = collector.registry.snapshot.receipt_key.secret_for("vercel")
    secret = drain_secret(alias, installation)
    return hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()


def drain(collector: InMemoryCollector, body: bytes, **headers: str) -> Reply:
    collector.add_alias("vercel", "shop-drain")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return collector.post(PATH, body, headers=named)


def test_a_signed_drain_is_stored(collector: InMemoryCollector) -> None:
    reply = drain(collector, LINES, x_vercel_signature=signature(collector, LINES))

    assert (reply.status, reply.body) == (200, b"{}")
    common = {
        "anonymousId": "2",
        "sessionId": "1",
        "timestamp": NOW,
        "path": "https://shop.example/cart?a=1",
    }
    [request] = collector.producer.sent
    assert request.items == [
        {"name": "screen_view", **common},
        {"name": "Click", **common, "properties": {"x": "\ufffd"}},
    ]


@pytest.mark.parametrize("alias", ["other-drain", ""])
def test_a_drain_signed_with_another_secret_is_refused(
    collector: InMemoryCollector, alias: str
) -> None:
    wrong = signature(collector, LINES, alias)

    reply = drain(collector, LINES, x_vercel_signature=wrong)

    assert (reply.status, reply.json["message"]) == (403, NOT_SIGNED)
    assert collector.producer.sent == []


def test_a_drain_that_was_changed_or_is_not_signed_is_refused_unread(
    collector: InMemoryCollector,
) -> None:
    signed = signature(collector, LINES)

    replies = [
        drain(collector, LINES + b" ", x_vercel_signature=signed),
        drain(collector, LINES),
        drain(collector, b"{", x_vercel_signature=signed),
        drain(collector, LINES, authorization=f"Bearer {collector.keys['acme']}"),
    ]

    assert [reply.status for reply in replies] == [403] * 4
    assert collector.producer.sent == []


def test_the_look_at_the_address_of_a_new_drain_is_replied_to_with_its_code(
    collector: InMemoryCollector,
) -> None:
    looks = [
        collector.get(f"{PATH}&verify=abc-123"),
        collector.post(PATH, b"{}", headers={"x-vercel-verify": "abc-123"}),
    ]

    assert [(one.status, one.headers["x-vercel-verify"]) for one in looks] == [(200, "abc-123")] * 2
    assert collector.get(f"{PATH}&verify=a%0D%0Ab").status == 400
    assert collector.get(PATH).status == 403
    assert collector.producer.sent == []


def test_no_signed_drain_fails_the_collector(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect=1_000_000)

    for body in hostile_bodies(VERCEL.routes[0]):
        reply = drain(collector, body, x_vercel_signature=signature(collector, body))
        assert reply.status < 500, body
