"""POST /, /batch, /events, /identify, /engagement: published items, and responses."""

from pathlib import Path
from typing import Any

import pytest

from ingest.publishing.partition_queue import DeliveryStatus
from tests.http_client import Reply
from tests.ingest.in_memory_collector import NOW, InMemoryCollector, in_memory_collector

VIEW = {"eventId": "e1", "name": "screen_view", "path": "https://shop.example/a"}
AWAY = {"type": "outgoing_link", "eventId": "e2", "href": "https://x.example/", "text": "X"}
PAYLOAD = {"eventId": "e3", "message": "m", "path": "/a"}
OOPS = {"type": "error", "payload": PAYLOAD}


@pytest.fixture
def collector(tmp_path: Path) -> InMemoryCollector:
    return in_memory_collector(tmp_path)


def sent(collector: InMemoryCollector) -> list[tuple[str, Any]]:
    return [(sent.topic, sent.items) for sent in collector.producer.sent]


def plain(reply: Reply) -> dict[str, Any]:
    """The answer without its receipts, which are there."""
    body: dict[str, Any] = reply.json
    receipts = body.pop("receipts", None) or {"": body.pop("receipt")}
    assert all(receipts.values())
    return body


@pytest.mark.parametrize(
    ("item", "type_", "topic", "made"),
    [
        (VIEW, "track", "events", VIEW),
        (VIEW | {"type": "track"}, "track", "events", VIEW | {"type": "track"}),
        ({"type": "custom", "name": "buy"}, "custom", "events", {"type": "custom", "name": "buy"}),
        (AWAY, "outgoing_link", "events", AWAY | {"name": "outgoing_link"}),
        (VIEW | {"gclid": "Cj0"}, "track", "events", VIEW | {"gclid": "Cj0", "clickId": "gclid"}),
        (VIEW | {"gclid": None}, "track", "events", VIEW | {"gclid": None}),
        (OOPS, "error", "errors", {"type": "error", **PAYLOAD}),
        (
            {"type": "web_vitals", "path": "/a", "metricName": "LCP", "metricValue": 2},
            "web_vitals",
            "vitals",
            {"type": "web_vitals", "path": "/a", "metricName": "LCP", "metricValue": 2},
        ),
        (
            {"type": "engagement", "path": "/a", "clickCount": 2},
            "engagement",
            "engagement",
            {"type": "engagement", "path": "/a", "clickCount": 2},
        ),
        (
            {"type": "identify", "profileId": "p"},
            "identify",
            "identities",
            {"type": "identify", "profileId": "p"},
        ),
    ],
)
def test_an_item_goes_to_the_topic_of_its_type(
    collector: InMemoryCollector, item: object, type_: str, topic: str, made: object
) -> None:
    reply = collector.post("/?client_id=shop", item)

    assert reply.status == 200
    assert plain(reply) == {"status": "success", "type": type_, "count": 1}
    assert sent(collector) == [(topic, [made])]


def test_several_web_vitals_in_one_item_become_one_each(collector: InMemoryCollector) -> None:
    payload = {
        "eventId": "v1",
        "path": "/a",
        "fcp": 800.5,
        "lcp": 1200,
        "cls": 0,
        "inp": None,
        "fid": 9,
    }

    reply = collector.post("/?client_id=shop", {"type": "web_vitals", "payload": payload})

    assert (reply.status, reply.json["count"]) == (200, 1)
    common = {"path": "/a"}
    assert sent(collector) == [
        (
            "vitals",
            [
                {**common, "eventId": "v1:FCP", "metricName": "FCP", "metricValue": 800.5},
                {**common, "eventId": "v1:LCP", "metricName": "LCP", "metricValue": 1200},
                {**common, "eventId": "v1:CLS", "metricName": "CLS", "metricValue": 0},
            ],
        )
    ]


def test_several_web_vitals_per_item_do_not_exceed_a_message(
    collector: InMemoryCollector,
) -> None:
    vitals = dict.fromkeys(("fcp", "lcp", "cls", "inp", "ttfb"), 1)
    item = {"type": "web_vitals", "path": "p" * 2000, **vitals}

    reply = collector.post("/batch?client_id=shop", [item] * 400)

    assert (reply.status, collector.producer.sent) == (413, [])
    assert reply.json["message"] == "The items may have at most 1,048,576 bytes per kind"
    assert collector.post("/batch?client_id=shop", [item] * 90).json["processed"] == 90


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"type": "page"},
            "Unknown event type; 'type' is one of "
            "track, custom, outgoing_link, web_vitals, error, engagement, identify",
        ),
        (
            {"type": 7},
            "Unknown event type; 'type' is one of "
            "track, custom, outgoing_link, web_vitals, error, engagement, identify",
        ),
        ({"type": "outgoing_link"}, "'href' is required"),
        ({"type": "track"}, "'name' is required"),
        (
            {"type": "web_vitals", "payload": {"path": "/", "fid": 1}},
            "The item has none of the metrics FCP, LCP, CLS, INP, TTFB, FPS",
        ),
        (
            {"type": "web_vitals", "path": "/", "lcp": 1, "cls": "x"},
            "'cls' must be a number, not a string",
        ),
        ({"type": "error", "payload": {"path": "/"}}, "'message' is required"),
        ({"name": "x", "websiteId": "solo"}, "'websiteId' is a website that this sender"),
    ],
)
def test_an_invalid_item_is_rejected_with_a_message(
    collector: InMemoryCollector, item: object, message: str
) -> None:
    reply = collector.post("/?client_id=shop", item)

    assert (reply.status, reply.json["code"]) == (400, "NO_ITEM_ACCEPTED")
    assert reply.json["message"].startswith(f"No item was accepted. {message}")
    assert sent(collector) == []


def test_a_huge_item_is_refused_for_its_size_before_anything_else(
    collector: InMemoryCollector,
) -> None:
    # 980,000 bytes of members, and a type that nobody knows: its size is what is said
    huge = {"type": "page", **dict.fromkeys((f"m{n:06}" for n in range(70_000)), 1)}

    reply = collector.post("/batch?client_id=shop", [huge, VIEW])

    assert (reply.status, plain(reply)["results"]) == (
        200,
        [
            {
                "status": "error",
                "message": "An item may have at most 65,536 bytes",
                "code": "PAYLOAD_TOO_LARGE",
                "eventType": None,
            },
            {"status": "success", "type": "track", "eventId": "e1"},
        ],
    )


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/", b'[{"name":"a"}]', "The body must be JSON in UTF-8: an item"),
        ("/", b'{"name":"a"},{"name":"b"}', "The body is not valid JSON"),
        ("/", b'{"name"', "The body is not valid JSON"),
        ("/batch", b'{"name":"a"}', "The body must be JSON in UTF-8: an array of items"),
        ("/batch", b"[]", "A request may have 1 to 500 items; this one has 0"),
        ("/events", b"7", "The body must be JSON in UTF-8: an array of items"),
    ],
)
def test_a_malformed_body_is_refused(
    collector: InMemoryCollector, path: str, body: bytes, message: str
) -> None:
    reply = collector.post(f"{path}?client_id=shop", body)

    assert (reply.status, reply.json["message"]) == (400, message)


def test_a_batch_is_grouped_by_kind_with_a_result_per_item(collector: InMemoryCollector) -> None:
    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS, {"eventId": "bad"}, 8, AWAY])

    assert reply.status == 200
    assert plain(reply) == {
        "status": "partial",
        "batch": True,
        "processed": 3,
        "batched": {"track": 1, "error": 1, "outgoing_link": 1},
        "results": [
            {"status": "success", "type": "track", "eventId": "e1"},
            {"status": "success", "type": "error", "eventId": "e3"},
            {
                "status": "error",
                "message": "'name' is required",
                "code": "VALIDATION_ERROR",
                "eventType": "track",
                "eventId": "bad",
            },
            {
                "status": "error",
                "message": "The item must be an object, not an integer",
                "code": "VALIDATION_ERROR",
                "eventType": None,
            },
            {"status": "success", "type": "outgoing_link", "eventId": "e2"},
        ],
    }
    assert sent(collector) == [
        ("events", [VIEW, AWAY | {"name": "outgoing_link"}]),
        ("errors", [{"type": "error", **PAYLOAD}]),
    ]


def test_a_batch_of_valid_items_is_a_success(collector: InMemoryCollector) -> None:
    reply = collector.post("/batch", [VIEW, AWAY], headers={"databuddy-client-id": "shop"})

    body = plain(reply)
    assert (body["status"], body["processed"], len(body["results"])) == ("success", 2, 2)


def test_a_batch_without_a_valid_item_is_refused_item_by_item(collector: InMemoryCollector) -> None:
    reply = collector.post("/batch?client_id=shop", [{"eventId": "a"}, {"name": 7}])

    assert (reply.status, reply.json["code"]) == (400, "NO_ITEM_ACCEPTED")
    assert [result["message"] for result in reply.json["results"]] == [
        "'name' is required",
        "'name' must be a string, not an integer",
    ]


def test_a_partly_acknowledged_batch_lists_what_was_acknowledged(
    collector: InMemoryCollector,
) -> None:
    collector.producer.outcomes["errors"] = DeliveryStatus.NOT_SENT

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS])

    assert (reply.status, reply.json["code"]) == (503, "OUTCOME_UNKNOWN")
    assert reply.headers["retry-after"] == "5"
    assert reply.json["batched"] == {"track": 1}
    assert reply.json["results"] == [
        {"status": "success", "type": "track", "eventId": "e1"},
        {
            "status": "error",
            "message": "Kafka did not respond in time; nothing was accepted. Retry later",
            "code": "SERVICE_UNAVAILABLE",
            "eventType": "error",
            "eventId": "e3",
        },
    ]


@pytest.mark.parametrize(
    ("events", "errors", "code"),
    [
        (DeliveryStatus.NOT_SENT, DeliveryStatus.NOT_SENT, "SERVICE_UNAVAILABLE"),
        (DeliveryStatus.NOT_SENT, DeliveryStatus.UNKNOWN, "OUTCOME_UNKNOWN"),
        (DeliveryStatus.UNKNOWN, DeliveryStatus.ACKNOWLEDGED, "OUTCOME_UNKNOWN"),
    ],
)
def test_no_batch_is_a_success_without_acknowledgement(
    collector: InMemoryCollector, events: DeliveryStatus, errors: DeliveryStatus, code: str
) -> None:
    collector.producer.outcomes = {"events": events, "errors": errors}

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS])

    assert (reply.status, reply.json["code"]) == (503, code)


def test_a_kind_that_never_fits_is_rejected_and_not_retried(
    collector: InMemoryCollector,
) -> None:
    collector.producer.too_large = {"errors"}
    refused = {"status": "error", "message": "too large", "code": "PAYLOAD_TOO_LARGE"}

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS, {"eventId": "bad"}])

    assert (reply.status, reply.json["status"], reply.json["processed"]) == (200, "partial", 1)
    assert reply.json["results"][:2] == [
        {"status": "success", "type": "track", "eventId": "e1"},
        {**refused, "eventType": "error", "eventId": "e3"},
    ]
    alone = collector.post("/batch?client_id=shop", [OOPS])
    assert (alone.status, alone.json["results"]) == (
        413,
        [{**refused, "eventType": "error", "eventId": "e3"}],
    )


def test_retryable_errors_rank_before_too_large(
    collector: InMemoryCollector,
) -> None:
    collector.producer.too_large = {"events"}
    collector.producer.outcomes["errors"] = DeliveryStatus.NOT_SENT

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS])

    assert (reply.status, reply.json["code"]) == (503, "SERVICE_UNAVAILABLE")


@pytest.mark.parametrize("path", ["/", "/batch", "/events", "/identify", "/engagement"])
def test_every_route_refuses_while_kafka_is_unavailable(
    collector: InMemoryCollector, path: str
) -> None:
    collector.producer.unavailable_reason = "away"
    item = VIEW | {"eventName": "a", "profileId": "p"}

    reply = collector.post(f"{path}?client_id=shop", item if path in ("/", "/identify") else [item])

    assert (reply.status, reply.json["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert reply.headers["retry-after"] == "5"


def test_events_call_their_name_event_name(collector: InMemoryCollector) -> None:
    body = [
        {"eventName": "a", "properties": {"x": 1}, "timestamp": NOW},
        {"event_name": "b", "session_id": "s"},
        {"properties": {}},
    ]

    reply = collector.post("/events?client_id=shop", body)

    assert plain(reply) == {
        "status": "success",
        "type": "custom_event",
        "count": 2,
        "rejected": [
            {"index": 2, "code": "VALIDATION_ERROR", "message": "'eventName' is required"}
        ],
    }
    assert sent(collector) == [
        (
            "events",
            [
                {"name": "a", "properties": {"x": 1}, "timestamp": NOW},
                {"name": "b", "sessionId": "s"},
            ],
        )
    ]


def test_a_server_identifies_a_person_with_its_key(collector: InMemoryCollector) -> None:
    body = {"profileId": "user-7", "traits": {"plan": "pro"}, "websiteId": "shop"}

    reply = collector.post("/identify", body, key="acme")

    assert (reply.status, reply.json["status"]) == (200, "success")
    assert sent(collector) == [("identities", [body])]
    assert collector.producer.sent[0].envelopes[0].trusted is True


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"traits": {}}, "'profileId' is required"),
        ({"profileId": ""}, "'profileId' must not be empty"),
        (
            {"profileId": "p", "traits": dict.fromkeys(map(str, range(101)))},
            "'traits' must have at most 100 keys",
        ),
    ],
)
def test_identify_needs_a_visitor(collector: InMemoryCollector, body: object, message: str) -> None:
    reply = collector.post("/identify?client_id=shop", body)

    assert (reply.status, reply.json["rejected"][0]["message"]) == (400, message)


def test_a_key_may_send_a_batch_for_several_websites(collector: InMemoryCollector) -> None:
    body = [
        VIEW | {"websiteId": "shop"},
        OOPS | {"websiteId": "blog"},
        VIEW | {"websiteId": "solo"},
    ]

    reply = collector.post("/batch", body, key="acme")

    assert [result["status"] for result in reply.json["results"]] == ["success", "success", "error"]
    assert [(s.topic, s.envelopes[0].subject_id) for s in collector.producer.sent] == [
        ("events", "shop"),
        ("errors", "blog"),
    ]


def test_the_first_accepted_item_may_have_the_website_id(collector: InMemoryCollector) -> None:
    collector.post("/batch", [{"nam": 1, "websiteId": "solo"}, OOPS | {"websiteId": "blog"}])

    assert [sent.envelopes[0].subject_id for sent in collector.producer.sent] == ["blog"]


@pytest.mark.parametrize("path", ["/", "/batch", "/events", "/px.jpg", "/identify", "/engagement"])
def test_a_request_without_a_website_is_refused_on_every_route(
    collector: InMemoryCollector, path: str
) -> None:
    item = VIEW | {"eventName": "a", "profileId": "p"}
    body = item if path in ("/", "/identify") else [item]

    reply = collector.get(path + "?name=a") if path == "/px.jpg" else collector.post(path, body)

    assert (reply.status, reply.json["code"]) == (401, "AUTH_REQUIRED")


@pytest.mark.parametrize("name", ["eventName", "event_name", "name"])
def test_messages_about_an_event_name_have_the_name_that_was_sent(
    collector: InMemoryCollector, name: str
) -> None:
    reply = collector.post("/events?client_id=shop", [{name: 5, "session_id": "s"}])

    assert [reject["message"] for reject in reply.json["rejected"]] == [
        f"'{name}' must be a string, not an integer"
    ]


def test_messages_about_payload_fields_have_the_name_that_was_sent(
    collector: InMemoryCollector,
) -> None:
    payload = {"path": "/", "message": "m", "error_type": 5}

    reply = collector.post("/?client_id=shop", {"type": "error", "payload": payload})

    assert reply.json["message"] == (
        "No item was accepted. 'error_type' must be a string or null, not an integer"
    )
