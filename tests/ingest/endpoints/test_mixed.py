"""POST /: items of every type, as they are published, and how invalid ones are rejected."""

import pytest

from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.mixed_items import AWAY, OOPS, PAYLOAD, VIEW, plain, sent


@pytest.mark.parametrize(
    ("item", "type_", "topic", "published"),
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
    collector: InMemoryCollector, item: object, type_: str, topic: str, published: object
) -> None:
    reply = collector.post("/?client_id=shop", item)

    assert reply.status == 200
    assert plain(reply) == {"status": "success", "type": type_, "count": 1}
    assert sent(collector) == [(topic, [published])]


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


def test_messages_about_payload_fields_have_the_name_that_was_sent(
    collector: InMemoryCollector,
) -> None:
    payload = {"path": "/", "message": "m", "error_type": 5}

    reply = collector.post("/?client_id=shop", {"type": "error", "payload": payload})

    assert reply.json["message"] == (
        "No item was accepted. 'error_type' must be a string or null, not an integer"
    )


def test_a_batch_names_ignored_members_and_counts_adjusted_times(
    collector: InMemoryCollector,
) -> None:
    reply = collector.post(
        "/batch?client_id=shop",
        [
            {"type": "track", "name": "screen_view", "path": "/", "timestamp": 5},
            {"type": "custom", "zzz": 1},
            {"type": "custom", "name": "signup", "zzz": 1, "timestamp": 2},
        ],
    ).json

    assert reply["status"] == "partial"
    assert [(one["index"], one["names"]) for one in reply["ignored"]] == [(2, ["zzz"])]
    assert reply["adjusted"] == 2
