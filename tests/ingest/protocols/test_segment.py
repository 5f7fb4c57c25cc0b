"""Segment's messages: what each becomes, what is refused and dropped, and the replies."""

import base64
import gzip
import json
from typing import Any

import pytest

from ingest.endpoints.debug import DebugLines
from tests.ingest.in_memory_collector import NOW, InMemoryCollector

PAGE = {
    "url": "https://shop.example/a?x=1",
    "path": "/a",
    "referrer": "https://other.example/",
    "title": "A",
}
CONTEXT = {
    "page": PAGE,
    "userAgent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
    "ip": "203.0.113.77",
    "locale": "de-DE",
    "timezone": "Europe/Berlin",
    "screen": {"width": 1920, "height": 1080},
    "library": {"name": "analytics.js", "version": "4"},
    "campaign": {"source": "mail", "name": "May"},
}
COMMON = {"messageId": "m1", "anonymousId": "a1", "timestamp": "2026-11-18T11:06:40Z"}


def sent(collector: InMemoryCollector) -> list[tuple[str, list[dict[str, Any]]]]:
    """Topics and items, in the order of the requests to Kafka."""
    return [(one.topic, one.items) for one in collector.producer.sent if one.items]


def dropped(collector: InMemoryCollector) -> list[tuple[str, int]]:
    """Names and numbers of what has no place, for the ledger."""
    envelopes = [one.envelopes[0] for one in collector.producer.sent if not one.items]
    return [(envelope.drop_reason, envelope.count) for envelope in envelopes]


@pytest.fixture
def shop(collector: InMemoryCollector) -> InMemoryCollector:
    collector.add_alias("segment", "wk1")
    return collector


def basic(user: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{user}:".encode()).decode()}


def test_messages_of_a_batch_become_items_of_the_website_of_the_write_key(
    shop: InMemoryCollector,
) -> None:
    batch = [
        {"type": "track", "event": "Buy", "properties": {"total": 5}, "context": CONTEXT, **COMMON},
        {"type": "page", "name": "A", "context": {"page": PAGE}, **COMMON, "messageId": "m2"},
        {"type": "screen", "name": "Home", "userId": "u1", **COMMON, "messageId": "m3"},
        {"type": "identify", "userId": "u1", "traits": {"plan": "pro"}, "anonymousId": "a1"},
        {"type": "alias", "userId": "u1", "previousId": "a0"},
        {"type": "group", "groupId": "g", "userId": "u1"},
    ]

    reply = shop.post("/v1/batch", {"batch": batch, "sentAt": NOW}, headers=basic("wk1"))

    assert (reply.status, json.loads(reply.body)) == (200, {"success": True})
    (events, items), (identities, identified) = sent(shop)
    assert (events, identities) == ("events", "identities")
    assert items == [
        {
            "name": "Buy",
            "eventId": "m1",
            "anonymousId": "a1",
            "timestamp": "2026-11-18T11:06:40Z",
            "sentAt": NOW,
            "properties": {"total": 5},
            "path": "https://shop.example/a?x=1",
            "title": "A",
            "referrer": "https://other.example/",
            "source": "analytics.js",
            "language": "de-DE",
            "timezone": "Europe/Berlin",
            "screen_resolution": "1920x1080",
            "utm_source": "mail",
            "utm_campaign": "May",
        },
        {
            "name": "screen_view",
            "eventId": "m2",
            "anonymousId": "a1",
            "timestamp": "2026-11-18T11:06:40Z",
            "sentAt": NOW,
            "path": "https://shop.example/a?x=1",
            "title": "A",
            "referrer": "https://other.example/",
        },
        {
            "name": "screen_view",
            "eventId": "m3",
            "anonymousId": "a1",
            "timestamp": "2026-11-18T11:06:40Z",
            "sentAt": NOW,
            "profileId": "u1",
            "path": "/Home",
            "title": "Home",
        },
    ]
    assert identified == [
        {"profileId": "u1", "anonymousId": "a1", "sentAt": NOW, "traits": {"plan": "pro"}},
        {"profileId": "u1", "anonymousId": "a0", "sentAt": NOW},
    ]
    [envelope] = shop.producer.sent[0].envelopes
    assert (envelope.subject_id, envelope.user_agent, envelope.trusted) == ("shop", "", False)
    assert dropped(shop) == [("group", 1)]


def test_debug_says_once_that_a_dropped_message_has_no_place(shop: InMemoryCollector) -> None:
    shop.post("/v1/batch", {"writeKey": "wk1", "batch": [{"type": "group", "groupId": "g"}]})

    [line] = [
        line for request in shop.recent.latest("shop") for line in DebugLines().of_request(request)
    ]

    assert (line["dropped"], line["message"]) == (
        "group",
        "'group' has no place here and is not stored",
    )


def test_a_server_with_an_api_key_names_the_browser_and_network_of_each_visitor(
    shop: InMemoryCollector,
) -> None:
    message = {"type": "track", "event": "Buy", "context": CONTEXT}

    reply = shop.post(
        "/segment/v1/batch", {"batch": [message]}, headers=basic(shop.keys["acme-shop"])
    )

    assert reply.status == 200
    [envelope] = shop.producer.sent[0].envelopes
    assert (envelope.user_agent, envelope.client_network, envelope.trusted) == (
        CONTEXT["userAgent"],
        "203.0.113.0",
        True,
    )
    assert (envelope.names_visitor, len(envelope.anonymous_id)) == (True, 32)


@pytest.mark.parametrize(
    ("agent", "stored"),
    [
        ("curl/8.5.0", ""),
        ("python-requests/2.32", ""),
        ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (X11; Linux x86_64)"),
        ("okhttp/4.12.0", "okhttp/4.12.0"),
    ],
)
def test_a_program_of_a_server_is_no_visitor_s_browser(
    shop: InMemoryCollector, agent: str, stored: str
) -> None:
    """Else its events would be those of a bot."""
    body = {"type": "track", "writeKey": "wk1", "event": "Buy", "anonymousId": "a"}

    reply = shop.post("/v1/track", body, headers={"user-agent": agent})

    assert reply.status == 200
    [envelope] = shop.producer.sent[0].envelopes
    assert envelope.user_agent == stored


def test_one_message_of_a_browser_has_its_key_in_the_body_and_may_be_gzip(
    shop: InMemoryCollector,
) -> None:
    body = json.dumps({"writeKey": "wk1", "event": "Buy", **COMMON}).encode()

    replies = [
        shop.post("/v1/t", data, headers={"content-type": "text/plain"})
        for data in (body, gzip.compress(body))
    ]

    assert [reply.status for reply in replies] == [200, 200]
    assert [items[0]["name"] for _, items in sent(shop)] == ["Buy", "Buy"]


@pytest.mark.parametrize(
    ("body", "key", "status", "message"),
    [
        ({"batch": []}, "wk1", 400, "'batch' must be an array with at least one message"),
        ([], "wk1", 400, "'batch' must be an array with at least one message"),
        (b"{", "wk1", 400, "The body must be JSON in UTF-8: Input data was truncated"),
        ({"batch": [{"type": "x"}]}, "wk1", 400, "No message was accepted. 'type' must be one of"),
        (
            {"batch": [{"type": "track"}]},
            "wk1",
            400,
            "No message was accepted. 'event' is required",
        ),
        ({"batch": [{"type": "track", "event": "a"}]}, "wk2", 403, "Unknown segment id: register"),
        ({"batch": [{"type": "track", "event": "a"}]}, "", 401, "The request names no website"),
    ],
)
def test_what_is_no_batch_is_refused_by_name(
    shop: InMemoryCollector, body: object, key: str, status: int, message: str
) -> None:
    reply = shop.post("/v1/batch", body, headers=basic(key) if key else {})

    assert (reply.status, json.loads(reply.body)["message"][: len(message)]) == (status, message)
    assert sent(shop) == []


def test_a_batch_is_stored_without_its_invalid_messages(shop: InMemoryCollector) -> None:
    batch = [{"type": "track", "event": "a"}, {"type": "track"}, 7, {"type": "page", "name": "b"}]

    reply = shop.post("/v1/batch", {"batch": batch}, headers=basic("wk1"))

    assert reply.status == 200
    assert [item["name"] for item in sent(shop)[0][1]] == ["a", "screen_view"]


def test_analytics_js_reads_where_to_send(shop: InMemoryCollector) -> None:
    reply = shop.get("/v1/projects/wk1/settings")

    destination = json.loads(reply.body)["integrations"]["Segment.io"]
    assert (destination["apiKey"], destination["apiHost"][-3:]) == ("wk1", "/v1")


def test_a_contract_that_refuses_leaves_the_other_messages(shop: InMemoryCollector) -> None:
    shop.set_contract("shop", {"events": {"Buy": {}}}, "refuse")
    bought, other = ({"type": "track", "event": name, **COMMON} for name in ("Buy", "Sell"))
    headers = basic("wk1")

    both = shop.post("/v1/batch", {"batch": [other, bought]}, headers=headers)
    none = shop.post("/v1/batch", {"batch": [other]}, headers=headers)

    assert (both.status, [item["name"] for _, found in sent(shop) for item in found]) == (
        200,
        ["Buy"],
    )
    assert (none.status, json.loads(none.body)["code"]) == (400, "NO_ITEM_ACCEPTED")
    assert "event 'Sell' is not in the contract" in json.loads(none.body)["message"]
