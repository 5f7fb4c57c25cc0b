"""POST /events, /identify, /engagement, and what all mixed routes have in common."""

import pytest

from tests.ingest.in_memory_collector import NOW, InMemoryCollector
from tests.ingest.mixed_items import OOPS, VIEW, plain, sent


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
