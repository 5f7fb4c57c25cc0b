"""GET /px.jpg: an item in a query string, and an image as the response."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import InMemoryCollector


def item(collector: InMemoryCollector, **query: object) -> tuple[str, Any]:
    """The topic and the item that the query becomes, without what is no member of it."""
    reply = collector.get("/px.jpg?" + urlencode({"client_id": "shop", **query}))
    assert reply.status == 200, reply.body
    [sent] = collector.producer.sent
    [published] = sent.items
    assert published.pop("client_id", "shop") == "shop"
    return sent.topic, published


def test_the_response_is_an_image_that_is_not_cached(collector: InMemoryCollector) -> None:
    reply = collector.get("/px.jpg?client_id=shop&name=hello")

    assert (reply.status, reply.headers["content-type"]) == (200, "image/gif")
    assert reply.headers["cache-control"] == "no-store, no-cache, must-revalidate, private"
    assert reply.body[:10] == b"GIF89a\x01\x00\x01\x00"
    assert reply.headers["content-length"] == str(len(reply.body)) == "43"
    assert reply.headers["tidemark-receipt"]
    assert "x-ratelimit-limit" in reply.headers


def test_an_event_without_id_and_path_is_stored(collector: InMemoryCollector) -> None:
    published = item(collector, type="track", name="signup", properties='{"plan":"pro","seats":3}')

    assert published == (
        "events",
        {"type": "track", "name": "signup", "properties": {"plan": "pro", "seats": 3}},
    )


def test_properties_may_be_sent_key_by_key(collector: InMemoryCollector) -> None:
    query = {"name": "a", "properties[plan]": "pro", "properties[deep][er]": "x"}

    assert item(collector, **query) == (
        "events",
        {"name": "a", "properties": {"plan": "pro", "deep": {"er": "x"}}},
    )


def test_properties_may_be_sent_both_ways(collector: InMemoryCollector) -> None:
    query = {"name": "a", "properties": '{"plan":"pro","deep":{"er":"x"}}', "properties[plan]": "x"}

    assert item(collector, **query) == (
        "events",
        {"name": "a", "properties": {"plan": "x", "deep": {"er": "x"}}},
    )
    refused = collector.get("/px.jpg?client_id=shop&name=a&properties=pro&properties[plan]=pro")
    assert (refused.status, len(collector.producer.sent)) == (400, 1)


def test_numbers_are_numbers_where_the_item_has_them(collector: InMemoryCollector) -> None:
    published = item(
        collector, name="page_exit", timestamp="1794999999000", time_on_page="12.5", title="404",
        screenResolution="1", pageCount="2", interactive="false",
    )  # fmt: skip

    assert published == (
        "events",
        {
            "name": "page_exit",
            "timestamp": 1794999999000,
            "time_on_page": 12.5,
            "title": "404",
            "screen_resolution": "1",
            "page_count": 2,
            "interactive": False,
        },
    )


@pytest.mark.parametrize(
    ("query", "topic", "published"),
    [
        (
            {"type": "outgoing_link", "href": "https://x.example/?a=b&c", "text": "ü"},
            "events",
            {"href": "https://x.example/?a=b&c", "text": "ü", "name": "outgoing_link"},
        ),
        (
            {"type": "web_vitals", "path": "/", "metricName": "CLS", "metricValue": "0.02"},
            "vitals",
            {"path": "/", "metricName": "CLS", "metricValue": 0.02},
        ),
        (
            {"type": "web_vitals", "payload[path]": "/", "payload[lcp]": "900"},
            "vitals",
            {"path": "/", "metricName": "LCP", "metricValue": 900},
        ),
        (
            {"type": "error", "payload": '{"message":"m","lineno":3}'},
            "errors",
            {"message": "m", "lineno": 3},
        ),
    ],
)
def test_every_type_may_be_sent(
    collector: InMemoryCollector, query: dict[str, str], topic: str, published: dict[str, Any]
) -> None:
    where, made = item(collector, **query)

    assert where == topic
    assert {**made, "type": query["type"]} == {"type": query["type"], **published}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "No item was accepted. 'name' is required"),
        ("name=a&properties=%7B1", "'properties' must be an object or null, not a string"),
        # members that a value smuggles in stay a part of it
        (
            "name=a&properties=%7B%7D%2C%22websiteId%22%3A%22blog%22",
            "'properties' must be an object or null, not a string",
        ),
        ("name=a&time_on_page=x", "'time_on_page' must be a number or null, not a string"),
        ("name=a&properties" + "[a]" * 9 + "=1", "Fields may be nested at most 8 deep"),
        ("x=1&" * 501, "The query string may have at most 500 parameters"),
    ],
)
def test_an_invalid_item_is_refused(collector: InMemoryCollector, query: str, message: str) -> None:
    reply = collector.get(f"/px.jpg?client_id=shop&{query}")

    assert (reply.status, collector.producer.sent) == (400, [])
    assert message in reply.json["message"]


def test_an_error_has_its_http_status(collector: InMemoryCollector) -> None:
    collector.producer.unavailable_reason = "away"

    reply = collector.get("/px.jpg?client_id=shop&name=a")

    assert (reply.status, reply.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_only_a_get_is_an_item(collector: InMemoryCollector, method: str) -> None:
    assert request_once(collector.app, method, "/px.jpg?client_id=shop&name=a").status == 405
    assert collector.producer.sent == []
