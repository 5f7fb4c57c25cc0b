"""Umami's events, and its replies."""

import json
from typing import Any

import pytest

from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.protocols.test_segment import sent

SITE = "5b1d9c1e-0000-4000-8000-000000000001"
PAGE = {
    "website": SITE,
    "hostname": "shop.example",
    "url": "/a?utm_source=mail",
    "title": "A",
    "referrer": "",
    "screen": "1920x1080",
    "language": "de-DE",
    "tag": "b",
}
STORED_PAGE = {
    "path": "https://shop.example/a?utm_source=mail",
    "title": "A",
    "language": "de-DE",
    "screen_resolution": "1920x1080",
}


@pytest.fixture
def shop(collector: InMemoryCollector) -> InMemoryCollector:
    collector.add_alias("umami", SITE)
    return collector


@pytest.mark.parametrize(
    ("type_", "payload", "topic", "stored"),
    [
        (
            "event",
            PAGE,
            "events",
            [{"name": "screen_view", "properties": {"tag": "b"}, **STORED_PAGE}],
        ),
        (
            "event",
            {**PAGE, "name": "Buy", "data": {"total": 5}, "id": "u1", "timestamp": 1_795_000_000},
            "events",
            [
                {
                    **STORED_PAGE,
                    "name": "Buy",
                    "properties": {"total": 5, "tag": "b"},
                    "anonymousId": "u1",
                    "profileId": "u1",
                    "timestamp": 1_795_000_000_000.0,
                }
            ],
        ),
        (
            "identify",
            {"website": SITE, "id": "u1", "data": {"plan": "pro"}},
            "identities",
            [{"profileId": "u1", "anonymousId": "u1", "traits": {"plan": "pro"}}],
        ),
        (
            "performance",
            {**PAGE, "lcp": 1800.5, "ttfb": 90},
            "vitals",
            [
                {"path": STORED_PAGE["path"], "metricName": "LCP", "metricValue": 1800.5},
                {"path": STORED_PAGE["path"], "metricName": "TTFB", "metricValue": 90.0},
            ],
        ),
    ],
    ids=["page view", "event", "identify", "performance"],
)
def test_an_event_becomes_items(
    shop: InMemoryCollector,
    type_: str,
    payload: dict[str, Any],
    topic: str,
    stored: list[dict[str, Any]],
) -> None:
    reply = shop.post("/api/send", {"type": type_, "payload": payload})

    assert (reply.status, json.loads(reply.body)["cache"]) == (200, "")
    assert sent(shop) == [(topic, stored)]


def test_a_batch_tells_what_was_refused(shop: InMemoryCollector) -> None:
    batch = [{"type": "event", "payload": PAGE}, {"type": "x", "payload": PAGE}, 7]

    reply = shop.post("/api/batch", batch)

    assert json.loads(reply.body) == {
        "size": 3,
        "processed": 1,
        "errors": 2,
        "details": [
            {
                "index": 1,
                "response": {
                    "error": {"message": "'type' must be one of event, identify, performance"}
                },
            },
            {"index": 2, "response": {"error": {"message": "'payload' must be a JSON object"}}},
        ],
    }


@pytest.mark.parametrize(
    "headers",
    [{"user-agent": "Mozilla/5.0 Umami/v20.1.0"}, {"authorization": "Bearer None"}],
    ids=["Node", "Python"],
)
def test_clients_for_servers_are_not_taken_for_the_visitor(
    shop: InMemoryCollector, headers: dict[str, str]
) -> None:
    reply = shop.post("/api/send", {"type": "event", "payload": PAGE}, headers=headers)

    [envelope] = shop.producer.sent[0].envelopes
    assert (reply.status, envelope.user_agent, envelope.client_network) == (200, "", "")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"type": "event"}, 401, "The request names no website"),
        ({"payload": PAGE}, 400, "No message was accepted. 'type' must be one of event"),
        ({"type": "event", "payload": {"website": "x"}}, 403, "Unknown umami id: register it"),
        ({"type": "event", "payload": {}}, 401, "The request names no website"),
        ([], 400, "The body must be one event: a JSON object"),
    ],
)
def test_what_is_no_event_is_refused_by_name(
    shop: InMemoryCollector, body: object, status: int, message: str
) -> None:
    reply = shop.post("/api/send", body)

    error = json.loads(reply.body)["error"]
    assert (reply.status, error["message"][: len(message)]) == (status, message)
