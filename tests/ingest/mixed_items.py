"""Items of the mixed routes, and what became of them."""

from typing import Any

from tests.http_client import Reply
from tests.ingest.in_memory_collector import InMemoryCollector

VIEW = {"eventId": "e1", "name": "screen_view", "path": "https://shop.example/a"}


AWAY = {"type": "outgoing_link", "eventId": "e2", "href": "https://x.example/", "text": "X"}


PAYLOAD = {"eventId": "e3", "message": "m", "path": "/a"}


OOPS = {"type": "error", "payload": PAYLOAD}


def sent(collector: InMemoryCollector) -> list[tuple[str, Any]]:
    return [(sent.topic, sent.items) for sent in collector.producer.sent]


def plain(reply: Reply) -> dict[str, Any]:
    """The answer without its receipts, which are there."""
    body: dict[str, Any] = reply.json
    receipts = body.pop("receipts", None) or {"": body.pop("receipt")}
    assert all(receipts.values())
    return body
