"""POST /track, /vitals, /errors: what is published, and the responses."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from ingest.decoding.limits import MAX_PROPERTIES
from schemas.envelope import Envelope
from tests.http_client import accepted_body
from tests.ingest.in_memory_collector import (
    NOW,
    InMemoryCollector,
    anonymous_ids,
)

AGENT = "Mozilla/5.0 (X11; Linux x86_64)"


def test_an_event_is_published_unchanged(collector: InMemoryCollector, tmp_path: Path) -> None:
    body = b'{"name":"signup", "properties":{"plan":"pro"},"unknown":1}'

    reply = collector.post("/track?website_id=shop", body, headers={"user-agent": AGENT})

    assert reply.status == 200
    assert accepted_body(reply) == {
        "status": "success",
        "type": "custom_event",
        "count": 1,
        "ignored": [
            {
                "index": 0,
                "names": ["unknown"],
                "message": "'unknown' is ignored; members of your own go into 'properties'",
            }
        ],
    }
    assert collector.producer.sent[0].topic == "events"
    assert collector.producer.sent[0].envelopes == [
        Envelope(
            subject_id="shop",
            organization_id="acme",
            received_ms=NOW,
            count=1,
            items=b"[" + body + b"]",
            client_network="203.0.113.0",
            user_agent=AGENT,
            anonymous_id=anonymous_ids(tmp_path).for_website("shop", "203.0.113.0", AGENT, NOW),
        )
    ]


def test_half_a_character_costs_no_item(collector: InMemoryCollector) -> None:
    body = rb'[{"name":"a"},{"name":"b","properties":{"text":"cut \ud83d"}}]'

    reply = collector.post("/track", body, key="solo")

    assert accepted_body(reply) == {"status": "success", "type": "custom_event", "count": 2}
    [envelope] = collector.producer.sent[0].envelopes
    assert envelope.items == body.replace(rb"\ud83d", rb"\ufffd")


def test_a_batch_is_one_request_in_one_envelope(collector: InMemoryCollector) -> None:
    body = b'[{"name":"a"},\n {"name":"b"}]'

    reply = collector.post("/track", body, key="solo")

    assert accepted_body(reply) == {"status": "success", "type": "custom_event", "count": 2}
    assert [
        (e.subject_id, e.count, e.items, e.trusted) for e in collector.producer.sent[0].envelopes
    ] == [("solo", 2, body, True)]


@pytest.mark.parametrize(
    ("path", "item", "type_", "topic"),
    [
        ("/vitals", {"path": "/", "metricName": "LCP", "metricValue": 812}, "web_vitals", "vitals"),
        ("/errors", {"message": "x is undefined", "lineno": 3}, "error", "errors"),
    ],
)
def test_a_tracker_sends_arrays_by_client_id(
    collector: InMemoryCollector, path: str, item: object, type_: str, topic: str
) -> None:
    reply = collector.post(f"{path}?client_id=blog", [item, item])

    assert accepted_body(reply) == {"status": "success", "type": type_, "count": 2}
    assert collector.producer.sent[0].topic == topic
    assert collector.producer.sent[0].items == [item, item]


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ({"release": "r" * 64, "properties": {"a": {"b": [1, None, True]}}}, None),
        ({"release": "r" * 65}, "release"),
        ({"release": 2.4}, "release"),
        ({"properties": [1]}, "properties"),
        ({"properties": {f"p{n}": n for n in range(MAX_PROPERTIES + 1)}}, "properties"),
        ({"properties": {"n": 2**63}}, "properties"),
    ],
)
def test_release_and_properties_of_errors_have_the_limits_of_events(
    collector: InMemoryCollector, more: dict[str, Any], refused: str | None
) -> None:
    report = {"message": "boom", **more}

    reply = collector.post("/errors?client_id=shop", [report, {"message": "fine"}])

    assert reply.status == 200
    rejected = reply.json.get("rejected", [])
    assert [(one["index"], refused in one["message"]) for one in rejected if refused] == (
        [(0, True)] if refused else []
    )
    stored = [{"message": "fine"}] if refused else [report, {"message": "fine"}]
    assert collector.producer.sent[-1].items == stored


@pytest.mark.parametrize("path", ["/vitals", "/errors"])
def test_what_must_be_an_array_is_refused_as_an_object(
    collector: InMemoryCollector, path: str
) -> None:
    reply = collector.post(f"{path}?client_id=blog", {"message": "m"})

    assert (reply.status, reply.json["message"]) == (
        400,
        "The body must be JSON in UTF-8: an array of items",
    )


def test_valid_items_are_accepted_and_invalid_ones_listed(collector: InMemoryCollector) -> None:
    body = [{"name": "a"}, {"nam": "b"}, {"name": "c"}, {"name": "d", "timestamp": "yesterday"}]

    reply = collector.post("/track?website_id=shop", body)

    assert reply.status == 200
    assert accepted_body(reply) == {
        "status": "success",
        "type": "custom_event",
        "count": 2,
        "rejected": [
            {"index": 1, "code": "VALIDATION_ERROR", "message": "'name' is required"},
            {
                "index": 3,
                "code": "VALIDATION_ERROR",
                "message": "'timestamp' must be Unix milliseconds or an ISO 8601 time",
            },
        ],
    }
    assert collector.producer.sent[0].items == [{"name": "a"}, {"name": "c"}]
    assert collector.producer.sent[0].envelopes[0].count == 2


def test_a_batch_without_a_valid_item_is_refused(collector: InMemoryCollector) -> None:
    reply = collector.post("/track?website_id=shop", [{"name": ""}, 7])

    assert reply.status == 400
    assert reply.json == {
        "status": "error",
        "message": "No item was accepted. 'name' must not be empty",
        "code": "NO_ITEM_ACCEPTED",
        "rejected": [
            {
                "index": 0,
                "code": "VALIDATION_ERROR",
                "message": "'name' must not be empty",
            },
            {
                "index": 1,
                "code": "VALIDATION_ERROR",
                "message": "The item must be an object, not an integer",
            },
        ],
    }
    assert collector.producer.sent == []


@pytest.mark.parametrize(
    "type_", ["application/json", "text/plain;charset=UTF-8", "application/x.a+json", None]
)
def test_any_content_type_is_read_as_json(collector: InMemoryCollector, type_: str | None) -> None:
    headers = {"content-type": type_} if type_ else {}

    assert collector.post("/track?website_id=shop", {"name": "a"}, headers=headers).status == 200


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP"])
def test_a_compressed_body_is_decompressed(collector: InMemoryCollector, encoding: str) -> None:
    packed = gzip.compress(b'[{"name":"a"}]')

    collector.post("/track?website_id=shop", packed, headers={"content-encoding": encoding})

    assert collector.producer.sent[0].envelopes[0].items == b'[{"name":"a"}]'


@pytest.mark.parametrize(
    "timestamp", [1790000000123, 1790000000123.5, "2026-11-21T10:00:00.123Z", "2026-11-21", None]
)
def test_a_time_may_be_a_number_or_iso(collector: InMemoryCollector, timestamp: object) -> None:
    reply = collector.post("/track?website_id=shop", {"name": "a", "timestamp": timestamp})

    assert reply.status == 200


def test_only_the_headers_that_enrichment_reads_are_kept(collector: InMemoryCollector) -> None:
    headers = {
        "accept-language": "de-DE",
        "referer": "https://shop.example/" + "p" * 1000,
        "cookie": "secret=1",
        "x-forwarded-for": "198.51.100.1",
        "idempotency-key": "r-1",
        "user-agent": "a" * 1000,
    }

    collector.post("/track?website_id=shop", {"name": "a"}, headers=headers)

    envelope = collector.producer.sent[0].envelopes[0]
    assert envelope.headers == {
        "accept-language": "de-DE",
        "referer": "https://shop.example/" + "p" * 491,
    }
    assert (envelope.idempotency_key, envelope.user_agent) == ("r-1", "a" * 512)
    assert envelope.client_network == "203.0.113.0"


def test_requests_of_a_visitor_share_a_partition_key(collector: InMemoryCollector) -> None:
    for visitor in ("u1", "u2", "u1"):
        collector.post("/track?website_id=shop", {"name": "a", "anonymousId": visitor})

    places = [sent.partition_key for sent in collector.producer.sent]
    # crc32 of "shop\0u1" and "shop\0u2"
    assert places == [3_615_511_926, 1_317_602_508, 3_615_511_926]


def test_requests_without_anonymous_id_are_keyed_by_address_and_user_agent(
    collector: InMemoryCollector,
) -> None:
    for agent in ("one", "two", "one"):
        collector.post("/track?website_id=shop", {"name": "a"}, headers={"user-agent": agent})

    first, second, third = [sent.partition_key for sent in collector.producer.sent]
    assert first == third != second


@pytest.mark.parametrize(
    ("timestamps", "adjusted"),
    [
        ([NOW, NOW - 6 * 86_400_000, None, "2026-11-18T11:00:00Z"], None),
        ([NOW, NOW - 8 * 86_400_000, NOW + 600_000], 2),
        ([NOW // 1000, NOW / 1000], None),
        ([-5, 0, "2020-01-01", NOW], 3),
    ],
    ids=["within", "old and future", "seconds", "meaningless"],
)
def test_adjusted_timestamps_are_counted(
    collector: InMemoryCollector, timestamps: list[object], adjusted: int | None
) -> None:
    items = [{"name": "a", "timestamp": timestamp} for timestamp in timestamps]

    reply = collector.post("/track?website_id=shop", items)

    assert (reply.status, reply.json.get("adjusted")) == (200, adjusted)


def test_times_on_the_page_that_are_cut_are_counted(collector: InMemoryCollector) -> None:
    long: dict[str, object] = {"name": "page_exit", "time_on_page": 259_200}
    items: list[dict[str, object]] = [{"name": "a"}, long | {"timestamp": 0}, {"name": 1}, long]
    batch = [item | {"type": "custom"} for item in items]

    for path, body in (("/track", items), ("/batch", batch)):
        reply = collector.post(f"{path}?client_id=shop", body).json
        assert reply["adjusted"] == 2
        assert [item.get("time_on_page") for item in collector.producer.sent[-1].items] == [
            None,
            86_400,
            86_400,
        ]


def test_remarks_of_several_websites_are_of_accepted_items(collector: InMemoryCollector) -> None:
    body = [
        {"name": "a", "websiteId": "solo", "extra": 1, "timestamp": 1},
        {"name": "b", "websiteId": "shop", "extra": 1, "timestamp": 1},
        {"name": "c", "websiteId": "blog"},
    ]

    reply = collector.post("/track", body, key="acme").json

    assert [reject["index"] for reject in reply["rejected"]] == [0]
    assert [ignored["index"] for ignored in reply["ignored"]] == [1]
    assert reply["adjusted"] == 1
