"""Paths, write keys and replies of RudderStack and Jitsu; the messages are Segment's."""

import json

import pytest

from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.protocols.test_segment import basic, sent

TRACK = {"type": "track", "event": "Buy", "anonymousId": "a1"}


@pytest.fixture
def shop(collector: InMemoryCollector) -> InMemoryCollector:
    collector.add_alias("rudderstack", "wk1")
    collector.add_alias("jitsu", "wk1")
    return collector


@pytest.mark.parametrize(
    ("key", "body", "status", "text"),
    [
        ("wk1", {"batch": [TRACK]}, 200, "ok"),
        ("wk1", {"batch": []}, 400, "'batch' must be an array with at least one message"),
        ("wk1", b"{", 400, "The body must be JSON in UTF-8: Input data was truncated"),
        ("", {"batch": [TRACK]}, 401, "failed to read writekey from header: The request names no"),
        ("wk2", {"batch": [TRACK]}, 401, "invalid write key: Unknown rudderstack id: register it"),
        ("wk1", b" " * 1_100_000, 413, "request size exceeds max limit: "),
    ],
)
def test_rudderstack_replies_in_plain_text(
    shop: InMemoryCollector, key: str, body: object, status: int, text: str
) -> None:
    reply = shop.post("/rudderstack/v1/batch", body, headers=basic(key) if key else {})

    assert (reply.status, reply.body.decode()[: len(text)]) == (status, text)
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_beacon_of_rudderstack_has_its_write_key_in_the_query_string(
    shop: InMemoryCollector,
) -> None:
    reply = shop.post("/rudderstack/beacon/v1/batch?writeKey=wk1", {"batch": [TRACK]})

    assert (reply.status, sent(shop)[0][1]) == (200, [{"name": "Buy", "anonymousId": "a1"}])


@pytest.mark.parametrize("prefix", ["/api/s", "/api/s/s2s", "/jitsu/api/s"])
def test_jitsus_write_key_is_the_id_before_the_colon(shop: InMemoryCollector, prefix: str) -> None:
    body = {"event": "Buy", "anonymousId": "a1", "writeKey": "wk1:***"}

    reply = shop.post(f"{prefix}/track", body, headers={"x-write-key": "wk1:secret"})

    assert (reply.status, json.loads(reply.body)) == (200, {"ok": True})
    assert sent(shop)[0][1] == [{"name": "Buy", "anonymousId": "a1"}]


def test_a_library_for_servers_is_not_taken_for_the_visitor(shop: InMemoryCollector) -> None:
    message = {**TRACK, "context": {"library": {"name": "analytics-python"}}}
    agent = {"user-agent": "python-requests/2", "accept-language": "de"}

    shop.post("/rudderstack/v1/batch", {"batch": [message]}, headers={**basic("wk1"), **agent})

    [envelope] = shop.producer.sent[0].envelopes
    assert (envelope.user_agent, envelope.client_network, envelope.headers) == ("", "", {})


def test_the_settings_of_the_script_for_browsers_name_no_destination(
    collector: InMemoryCollector,
) -> None:
    reply = collector.get("/rudderstack/sourceConfig/?p=npm&v=3&writeKey=key")

    assert (reply.status, reply.json) == (
        200,
        {
            "source": {
                "id": "key",
                "name": "",
                "writeKey": "key",
                "workspaceId": "",
                "enabled": True,
                "config": {
                    "statsCollection": {
                        "errors": {"enabled": False},
                        "metrics": {"enabled": False},
                    }
                },
                "destinations": [],
                "dataplanes": {},
            }
        },
    )
