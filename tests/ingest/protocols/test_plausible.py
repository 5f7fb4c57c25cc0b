"""Plausible's events, of its scripts and of its Events API, and its replies."""

import json
from typing import Any

import pytest

from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.protocols.test_segment import sent

URL = "https://shop.example/a?utm_source=mail"
PROPS = {"plan": "pro"}


@pytest.fixture
def shop(collector: InMemoryCollector) -> InMemoryCollector:
    collector.add_alias("plausible", "shop.example")
    collector.add_alias("plausible", "blog.example", "blog")
    return collector


@pytest.mark.parametrize(
    ("body", "item"),
    [
        (
            {"n": "pageview", "u": URL, "r": "https://other.example/", "p": PROPS, "v": 36},
            {
                "name": "screen_view",
                "path": URL,
                "referrer": "https://other.example/",
                "properties": PROPS,
            },
        ),
        (
            {"n": "Buy", "u": URL, "i": False, "$": {"amount": "9.5", "currency": "EUR"}},
            {
                "name": "Buy",
                "path": URL,
                "interactive": False,
                "properties": {"revenue": 9.5, "currency": "EUR"},
            },
        ),
        (
            {"n": "engagement", "u": URL, "e": 4500, "sd": 130},
            {"name": "page_exit", "path": URL, "time_on_page": 4.5, "scroll_depth": 100.0},
        ),
        (
            {"n": "Buy", "u": URL, "p": json.dumps(PROPS)},
            {"name": "Buy", "path": URL, "properties": PROPS},
        ),
        (
            {"name": "Buy", "url": URL, "domain": "shop.example", "props": PROPS},
            {"name": "Buy", "path": URL, "properties": PROPS},
        ),
    ],
    ids=["pageview", "revenue", "engagement", "older script", "Events API"],
)
def test_an_event_becomes_an_item(
    shop: InMemoryCollector, body: dict[str, Any], item: dict[str, Any]
) -> None:
    reply = shop.post(
        "/api/event", {"d": "shop.example", **body}, headers={"content-type": "text/plain"}
    )

    assert (reply.status, reply.body) == (202, b"ok")
    assert sent(shop) == [("events", [item])]


def test_an_event_of_several_domains_is_stored_once_for_each(shop: InMemoryCollector) -> None:
    shop.post(
        "/api/event", {"n": "pageview", "u": URL, "d": "shop.example, blog.example,shop.example"}
    )

    envelopes = [one for request in shop.producer.sent for one in request.envelopes]
    assert [one.subject_id for one in envelopes] == ["shop", "blog"]


def test_a_server_with_an_api_key_passes_the_visitor_on_in_headers(shop: InMemoryCollector) -> None:
    headers = {
        "user-agent": "Mozilla/5.0 Firefox/130.0",
        "x-forwarded-for": "203.0.113.77, 10.0.0.1",
    }
    body = {"name": "Buy", "url": URL, "domain": "shop.example"}

    shop.post("/api/event", body, key="acme-shop", headers=headers)

    [envelope] = shop.producer.sent[0].envelopes
    assert (envelope.user_agent, envelope.client_network, envelope.names_visitor) == (
        "Mozilla/5.0 Firefox/130.0",
        "203.0.113.0",
        True,
    )
    assert envelope.anonymous_id


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"n": "a", "d": "shop.example"}, 400, "No message was accepted. 'url' is required"),
        ({"u": URL, "d": "shop.example"}, 400, "No message was accepted. 'name' is required"),
        ({"n": "a", "u": URL, "d": "nowhere"}, 403, "Unknown plausible id: register it with"),
        ({"n": "a", "u": URL}, 401, "The request names no website"),
        ([], 400, "The body must be one event: a JSON object"),
    ],
)
def test_what_is_no_event_is_refused_by_name(
    shop: InMemoryCollector, body: object, status: int, message: str
) -> None:
    reply = shop.post("/api/event", body)

    [text] = json.loads(reply.body)["errors"]["event"]
    assert (reply.status, text[: len(message)]) == (status, message)
