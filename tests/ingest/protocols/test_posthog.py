"""PostHog's events: what each becomes, what is dropped, and the replies of both of its APIs."""

import base64
import gzip
import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.ingest.in_memory_collector import NOW, InMemoryCollector
from tests.ingest.protocols.test_segment import sent

UUIDS = [f"0190a3c2-7c1e-7000-8000-00000000000{n}" for n in range(4)]
BROWSER = {
    "$lib": "web",
    "$device_id": "d1",
    "$session_id": "s1",
    "$current_url": "https://shop.example/a?x=1",
    "title": "A",
    "$referrer": "$direct",
    "$browser_language": "de-DE",
    "$timezone": "Europe/Berlin",
    "$screen_width": 1920,
    "$screen_height": 1080,
    "$viewport_width": 1200,
    "$viewport_height": 800,
    "utm_source": "mail",
    "token": "phc_1",
}
COMMON = {"anonymousId": "d1", "sessionId": "s1", "timestamp": "2026-11-18T11:06:40Z"}


def event(name: str, **properties: Any) -> dict[str, Any]:
    return {
        "event": name,
        "distinct_id": "d1",
        "timestamp": "2026-11-18T11:06:40Z",
        "properties": {**BROWSER, **properties},
    }


@pytest.fixture
def shop(collector: InMemoryCollector) -> InMemoryCollector:
    collector.add_alias("posthog", "phc_1")
    return collector


def items(shop: InMemoryCollector, sent_events: object) -> list[tuple[str, list[dict[str, Any]]]]:
    reply = shop.post("/e/", sent_events)
    assert (reply.status, json.loads(reply.body)) == (200, {"status": "Ok"})
    return sent(shop)


def test_a_page_view_of_a_browser_is_stored_whole(shop: InMemoryCollector) -> None:
    [(topic, stored)] = items(shop, {**event("$pageview", coupon="c"), "uuid": UUIDS[0]})

    assert topic == "events"
    assert stored == [
        {
            **COMMON,
            "name": "screen_view",
            "eventId": UUIDS[0],
            "path": "https://shop.example/a?x=1",
            "title": "A",
            "timezone": "Europe/Berlin",
            "properties": {"coupon": "c"},
            "source": "web",
            "language": "de-DE",
            "screen_resolution": "1920x1080",
            "viewport_size": "1200x800",
            "utm_source": "mail",
        }
    ]


def test_a_page_leave_has_its_seconds_and_the_percentage_that_was_seen(
    shop: InMemoryCollector,
) -> None:
    leave = event(
        "$pageleave",
        **{"$prev_pageview_duration": 12.5, "$prev_pageview_max_scroll_percentage": 0.8},
    )

    [(_, [exit_])] = items(shop, leave)

    assert (exit_["name"], exit_["time_on_page"], exit_["scroll_depth"]) == ("page_exit", 12.5, 80)


def test_a_page_view_within_an_application_ends_the_one_before(shop: InMemoryCollector) -> None:
    left = {
        "$prev_pageview_pathname": "/b",
        "$prev_pageview_duration": 3,
        "$prev_pageview_max_scroll_percentage": 0.5,
    }

    [(_, stored)] = items(shop, {**event("$pageview", **left), "uuid": UUIDS[0]})

    assert [
        (one["name"], one["eventId"], one["path"], one.get("time_on_page"), one.get("scroll_depth"))
        for one in stored
    ] == [
        ("screen_view", UUIDS[0], "https://shop.example/a?x=1", None, None),
        ("page_exit", f"{UUIDS[0]}-exit", "https://shop.example/b", 3, 50),
    ]


def test_identities_name_the_person_and_the_traits(shop: InMemoryCollector) -> None:
    signed_in = {
        **event("$identify", **{"$anon_distinct_id": "d1", "$set": {"plan": "pro"}}),
        "distinct_id": "u1",
    }
    traits = {**event("Bought", **{"$is_identified": True, "$set_once": {"first": "x"}})}
    alias = event("$create_alias", distinct_id="u1", alias="a0")

    found = dict(items(shop, [signed_in, {**traits, "distinct_id": "u1"}, alias]))

    assert found["identities"] == [
        {**COMMON, "profileId": "u1", "traits": {"plan": "pro"}},
        {**COMMON, "profileId": "u1", "traits": {"first": "x"}},
        {**COMMON, "anonymousId": "a0", "profileId": "u1"},
    ]
    assert [(one["name"], one["profileId"]) for one in found["events"]] == [("Bought", "u1")]


def test_exceptions_and_web_vitals_have_their_own_kinds(shop: InMemoryCollector) -> None:
    frames = [
        {"function": "main", "filename": "a.js", "lineno": 1},
        {"function": "f", "filename": "b.js", "lineno": 7, "colno": 3},
    ]
    thrown = {"type": "TypeError", "value": "x is undefined", "stacktrace": {"frames": frames}}
    measured = {"$web_vitals_LCP_value": 1800.5, "$web_vitals_CLS_value": 0.1}

    found = dict(
        items(
            shop,
            [
                event(
                    "$exception",
                    **{"$exception_list": [thrown], "$app_version": "2.4.1", "cart": "full"},
                ),
                event("$web_vitals", **measured),
            ],
        )
    )

    assert found["errors"] == [
        {
            **COMMON,
            "message": "x is undefined",
            "errorType": "TypeError",
            "path": "https://shop.example/a?x=1",
            "timezone": "Europe/Berlin",
            "filename": "b.js",
            "lineno": 7,
            "colno": 3,
            "stack": "at f (b.js:7:3)\nat main (a.js:1)",
            "release": "2.4.1",
            "properties": {"cart": "full"},
        }
    ]
    assert [(one["metricName"], one["metricValue"]) for one in found["vitals"]] == [
        ("LCP", 1800.5),
        ("CLS", 0.1),
    ]


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(json.dumps(event("Bought")).encode()),
        b"data=" + quote(base64.b64encode(json.dumps(event("Bought")).encode())).encode(),
        {"api_key": "phc_1", "batch": [event("Bought", token=None)], "sent_at": NOW},
    ],
    ids=["gzip", "form", "envelope"],
)
def test_a_browser_sends_in_several_ways(shop: InMemoryCollector, body: object) -> None:
    assert items(shop, body)[0][1][0]["name"] == "Bought"


def test_what_has_no_place_is_acknowledged_and_not_stored(shop: InMemoryCollector) -> None:
    names = ("$groupidentify", "$feature_flag_called", "$$heatmap", "$snapshot", "survey shown")

    assert items(shop, [event(name) for name in names]) == []


@pytest.mark.parametrize(
    ("body", "status", "code", "detail"),
    [
        ({"api_key": "phc_1", "batch": []}, 400, "invalid_input", "'batch' must be an array with"),
        (
            {"api_key": "phc_1"},
            400,
            "invalid_input",
            "No message was accepted. 'event' is required",
        ),
        (
            {**event("a"), "api_key": "phc_2"},
            401,
            "invalid_api_key",
            "Unknown posthog id: register",
        ),
        (b"data=%%%", 400, "invalid_input", "The data must be JSON or valid base64"),
        (7, 400, "invalid_input", "The body must be JSON"),
    ],
)
def test_errors_have_posthogs_shape(
    shop: InMemoryCollector, body: object, status: int, code: str, detail: str
) -> None:
    reply = shop.post("/batch/", body)

    error = json.loads(reply.body)
    assert (reply.status, error["code"], error["detail"][: len(detail)]) == (status, code, detail)


BEARER = {"authorization": "Bearer phc_1", "posthog-sdk-info": "posthog-node/5"}


def test_capture_v1_tells_the_result_of_each_event(shop: InMemoryCollector) -> None:
    names = ("Bought", "$groupidentify", None)
    batch = [
        {"event": name, "uuid": uuid, "distinct_id": "u1", "session_id": "s1"}
        for name, uuid in zip(names, UUIDS, strict=False)
    ]

    reply = shop.post("/i/v1/analytics/events", {"batch": batch}, headers=BEARER)

    assert json.loads(reply.body) == {
        "results": {
            UUIDS[0]: {"result": "ok"},
            UUIDS[1]: {"result": "warning", "details": "'group' is not stored"},
            UUIDS[2]: {"result": "drop", "details": "'event' is required"},
        }
    }
    [item] = sent(shop)[0][1]
    assert (item["profileId"], item["sessionId"], item["source"]) == ("u1", "s1", "posthog-node")


def test_capture_v1_asks_for_a_retry_of_what_kafka_did_not_take(shop: InMemoryCollector) -> None:
    shop.producer.unavailable_reason = "Kafka is away"
    batch = [{"event": "Bought", "uuid": UUIDS[0], "distinct_id": "u1"}]

    reply = shop.post("/i/v1/analytics/events", {"batch": batch}, headers=BEARER)

    assert reply.status == 200
    assert json.loads(reply.body)["results"][UUIDS[0]]["result"] == "retry"


def test_the_browsers_library_learns_that_there_are_no_flags_and_recordings(
    shop: InMemoryCollector,
) -> None:
    config = json.loads(shop.get("/array/phc_1/config").body)
    script = shop.get('/array/"x/config.js').body.decode()
    flags = json.loads(shop.post("/flags/?v=2", {"token": "phc_1"}).body)

    assert (config["hasFeatureFlags"], config["sessionRecording"]) == (False, False)
    assert 'window._POSTHOG_REMOTE_CONFIG["\\"x"]={"config"' in script
    assert (flags["featureFlags"], flags["errorsWhileComputingFlags"]) == ({}, False)
    assert shop.post("/s/", {"event": "$snapshot"}).status == 200
