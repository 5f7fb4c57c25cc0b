"""GET /debug: accepted and rejected items of a website, once and as a stream."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import structs

from ingest.endpoints import debug
from schemas.registry import Selector
from schemas.registry.validation import new_erasure
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import NOW, InMemoryCollector

AT = "2026-11-18T11:06:40.000Z"


def debug_items(collector: InMemoryCollector, website: str = "shop", key: str = "reader") -> Any:
    return debug_body(collector, website, key)["items"]


def debug_body(collector: InMemoryCollector, website: str = "shop", key: str = "reader") -> Any:
    headers = {"x-api-key": collector.keys[key]}
    reply = request_once(collector.app, "GET", f"/debug?website_id={website}", headers=headers)
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-store"), reply.body
    return reply.json


def test_accepted_items_are_listed_newest_first(collector: InMemoryCollector) -> None:
    headers = {
        "user-agent": "Firefox",
        "origin": "https://shop.example",
        "cookie": "secret=1",
        "x-forwarded-for": "198.51.100.9",
    }
    first = collector.post("/track?website_id=shop", {"name": "a"}, headers=headers).json
    collector.post("/track?website_id=blog", {"name": "other"})
    second = collector.post("/track?website_id=shop", [{"name": "b"}, {"name": "c"}]).json

    origin = {"address": "203.0.113.0", "userAgent": "", "headers": {}, "byServer": False}
    shared = {"receivedAt": AT, "accepted": True, "type": "custom_event"}
    assert debug_items(collector) == [
        {**shared, "receipt": second["receipt"], "index": 1, **origin, "item": {"name": "c"}},
        {**shared, "receipt": second["receipt"], "index": 0, **origin, "item": {"name": "b"}},
        {
            **shared,
            "receipt": first["receipt"],
            "index": 0,
            **origin,
            "userAgent": "Firefox",
            "headers": {"origin": "https://shop.example"},
            "item": {"name": "a"},
        },
    ]


@pytest.mark.parametrize(
    ("owner", "at_ms", "dry_run", "listed"),
    [
        ({"website_id": "shop"}, NOW, False, 0),
        ({}, NOW, False, 0),
        ({"website_id": "blog"}, NOW, False, 1),
        ({"website_id": "shop"}, NOW - 1, False, 1),
        ({"website_id": "shop"}, NOW, True, 1),
    ],
)
def test_requests_of_before_an_erasure_are_not_listed(
    collector: InMemoryCollector, owner: dict[str, str], at_ms: int, dry_run: bool, listed: int
) -> None:
    collector.post("/track?website_id=shop", {"name": "a"})
    snapshot = collector.registry.snapshot
    organization = snapshot.websites["shop"].organization_id
    key = snapshot.tombstones.key
    erasure = new_erasure(
        organization, Selector.VISITOR, ["v1"], at_ms, key, dry_run=dry_run, **owner
    )
    erasures = MappingProxyType({erasure.id: erasure})
    collector.registry.snapshot = structs.replace(snapshot, erasures=erasures)

    assert len(debug_items(collector)) == listed


def test_rejects_are_listed_with_their_reason(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": "a"}, {"nam": "b"}])

    rejected, accepted = debug_items(collector)

    assert rejected == {
        "receivedAt": AT, "accepted": False, "path": "/track",
        "index": 1, "code": "VALIDATION_ERROR", "message": "'name' is required",
    }  # fmt: skip
    assert accepted["item"] == {"name": "a"}


def test_rejects_are_counted_by_reason(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": "a"}, {"nam": "b"}])
    collector.post("/track?website_id=shop", {"nam": "secret"})
    collector.post("/track?website_id=shop", b"{")

    malformed, nameless = sorted(
        debug_body(collector)["rejections"], key=lambda each: str(each["count"])
    )

    assert nameless == {
        "path": "/track", "code": "VALIDATION_ERROR", "message": "'name' is required",
        "count": 2, "firstAt": AT, "lastAt": AT,
    }  # fmt: skip
    assert (malformed["count"], malformed["code"]) == (1, "VALIDATION_ERROR")
    assert "secret" not in str(debug_body(collector)["rejections"])


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "code"),
    [
        ("/track?website_id=shop", b"{", {}, 400, "VALIDATION_ERROR"),
        ("/batch?client_id=shop", {}, {}, 400, "VALIDATION_ERROR"),
        ("/vitals", {}, {"databuddy-client-id": "shop"}, 400, "VALIDATION_ERROR"),
        ("/track?website_id=shop", {"name": "a"}, {"x-api-key": "tm_no_key"}, 401, "AUTH_REQUIRED"),
        ("/track?website_id=shop", {"name": "a"}, {"content-encoding": "br"}, 400,
         "VALIDATION_ERROR"),
    ],
)  # fmt: skip
def test_a_refused_request_is_listed(
    collector: InMemoryCollector,
    path: str,
    body: object,
    headers: Mapping[str, str],
    status: int,
    code: str,
) -> None:
    reply = collector.post(path, body, headers=headers)

    assert debug_items(collector) == [
        {
            "receivedAt": AT,
            "accepted": False,
            "path": path.partition("?")[0],
            "status": status,
            "code": code,
            "message": reply.json["message"],
        }
    ]


def test_each_item_of_a_refused_batch_has_its_reason(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": ""}, {"name": 7}])

    assert [(line.get("index"), line["code"]) for line in debug_items(collector)] == [
        (None, "NO_ITEM_ACCEPTED"),
        (1, "VALIDATION_ERROR"),
        (0, "VALIDATION_ERROR"),
    ]


def test_the_first_of_many_rejects_are_listed_with_truncated_messages(
    collector: InMemoryCollector,
) -> None:
    bad = {"path": "/", "metricName": "x" * 1_900, "metricValue": 1}

    assert collector.post("/vitals?client_id=shop", [bad] * 500).status == 400

    error, others, *items = debug_items(collector)
    assert {len(error["message"]), *(len(item["message"]) for item in items)} == {256}
    assert (others["count"], [item["index"] for item in items]) == (450, [*range(49, -1, -1)])
    [request] = collector.recent.latest("shop")
    assert request.size == 512 + 50 * (192 + 256)


def test_requests_refused_without_kafka_are_listed(collector: InMemoryCollector) -> None:
    collector.producer.unavailable_reason = "Kafka is away"
    collector.post("/track?website_id=shop", {"name": "a"})

    assert [(line["status"], line["message"]) for line in debug_items(collector)] == [
        (503, "Kafka is away")
    ]


def test_preflight_requests_are_not_listed(collector: InMemoryCollector) -> None:
    asking = {"origin": "https://shop.example", "access-control-request-method": "POST"}

    assert (
        request_once(collector.app, "OPTIONS", "/track?website_id=shop", headers=asking).status
        == 204
    )
    assert debug_items(collector) == []


def test_items_of_several_websites_are_listed_at_their_own(collector: InMemoryCollector) -> None:
    collector.post("/track", [{"name": "a", "websiteId": "shop"}, {"name": "b"}], key="acme")

    assert [line["item"]["name"] for line in debug_items(collector)] == ["a"]
    assert [
        (line["item"]["name"], line["byServer"]) for line in debug_items(collector, "acme")
    ] == [("b", True)]


def test_items_of_large_requests_are_counted_only(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": "a" * 200}] * 100)

    [line] = debug_items(collector)

    assert (line["count"], line["message"], "item" in line) == (
        100,
        debug.ITEMS_OMITTED,
        False,
    )


@pytest.mark.parametrize(
    ("key", "website", "status"),
    [(None, "shop", 401), ("acme", "shop", 403), ("reader", "solo", 403), ("reader", "x", 403),
     ("reader", "", 400)],
)  # fmt: skip
def test_only_keys_that_may_read_the_website_see_its_items(
    collector: InMemoryCollector, key: str | None, website: str, status: int
) -> None:
    headers = {"x-api-key": collector.keys[key]} if key else {}

    assert (
        request_once(collector.app, "GET", f"/debug?website_id={website}", headers=headers).status
        == status
    )
