"""What messages of other products become, value by value, and how their clients are answered."""

import base64
import json
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ingest.protocols.amplitude import error
from schemas.errors import RateLimitExceeded
from schemas.telemetry.instruments import REJECTED_ITEMS
from tests.ingest.in_memory_collector import NOW, InMemoryCollector

Sent = list[tuple[str, dict[str, Any]]]
"""Topic and item, in the order of the requests to Kafka."""


def sent(collector: InMemoryCollector) -> Sent:
    return [(one.topic, item) for one in collector.producer.sent for item in one.items]


def post(collector: InMemoryCollector, product: str, path: str, body: object) -> tuple[int, str]:
    collector.add_alias(product, "x")
    reply = collector.post(path, body)
    return reply.status, reply.body.decode()


GA4 = {
    "client_id": "12.34",
    "user_id": "u1",
    "timestamp_micros": NOW * 1000,
    "events": [
        {"name": "page_view", "params": {"page_location": "https://s.example/a", "page_title": "A",
                                         "session_id": "9", "page_referrer": "https://o.example/"}},
        {"name": "purchase", "params": {"value": 5, "currency": "EUR", "session_id": "9"}},
        {"name": "user_engagement",
         "params": {"engagement_time_msec": "1500", "page_location": "https://s.example/a"}},
        {"name": "session_start", "params": {}},
    ],
}  # fmt: skip
GA4_COMMON = {"anonymousId": "12.34", "profileId": "u1", "timestamp": NOW}


def test_google_analytics_measurements(collector: InMemoryCollector) -> None:
    reply = post(collector, "ga4", "/mp/collect?measurement_id=x&api_secret=s", GA4)

    assert reply == (204, "")
    assert sent(collector) == [
        (
            "events",
            {
                **GA4_COMMON,
                "name": "screen_view",
                "sessionId": "12.34.9",
                "path": "https://s.example/a",
                "referrer": "https://o.example/",
                "title": "A",
            },
        ),
        (
            "events",
            {
                **GA4_COMMON,
                "name": "purchase",
                "sessionId": "12.34.9",
                "properties": {"value": 5, "currency": "EUR"},
            },
        ),
        (
            "events",
            {
                **GA4_COMMON,
                "name": "page_exit",
                "path": "https://s.example/a",
                "time_on_page": 1.5,
            },
        ),
    ]


@pytest.mark.parametrize(
    ("agent", "envelope_agent"), [("Python-urllib/3.11", ""), ("Mozilla/5.0", "Mozilla/5.0")]
)
def test_a_server_that_measures_is_not_taken_for_the_visitor(
    collector: InMemoryCollector, agent: str, envelope_agent: str
) -> None:
    collector.add_alias("ga4", "x")

    collector.post("/mp/collect?measurement_id=x", GA4, headers={"user-agent": agent})

    [envelope] = collector.producer.sent[0].envelopes
    assert envelope.user_agent == envelope_agent


def test_google_analytics_hits_of_one_request(collector: InMemoryCollector) -> None:
    shared = "v=2&tid=x&cid=12.34&sid=9&ul=de-de&sr=800x600&dl=https%3A%2F%2Fs.example%2Fa"
    lines = "en=page_view&dt=A\r\nen=buy&ep.size=L&epn.total=5.5&cu=EUR"

    reply = post(collector, "ga4", f"/g/collect?{shared}", lines.encode())

    common = {
        "anonymousId": "12.34",
        "sessionId": "12.34.9",
        "path": "https://s.example/a",
        "language": "de-de",
        "screen_resolution": "800x600",
    }
    assert reply == (204, "")
    assert sent(collector) == [
        ("events", {"name": "screen_view", **common, "title": "A"}),
        (
            "events",
            {"name": "buy", **common, "properties": {"size": "L", "total": 5.5, "currency": "EUR"}},
        ),
    ]


def test_google_analytics_says_what_is_wrong_on_request_only(collector: InMemoryCollector) -> None:
    bad = {"client_id": "1.2", "events": [{"params": {}}]}

    usual = post(collector, "ga4", "/mp/collect?measurement_id=x", bad)
    debug = post(collector, "ga4", "/debug/mp/collect?measurement_id=x", bad)

    assert (usual, debug[0]) == ((204, ""), 200)
    [message] = json.loads(debug[1])["validationMessages"]
    assert "'name' of an event is required" in message["description"]


EVENT = {"name": "a", "params": {}}


@pytest.mark.parametrize(
    ("path", "body", "code", "message", "items"),
    [
        (
            "/mp/collect?measurement_id=x",
            b"not json",
            "VALIDATION_ERROR",
            "The body must be JSON",
            1,
        ),
        (
            "/mp/collect?measurement_id=x",
            {"client_id": "1.2", "events": [EVENT] * 26},
            *("VALIDATION_ERROR", "'events' must be an array of 1 to 25 events", 1),
        ),
        (
            "/mp/collect?measurement_id=x",
            {"client_id": "1.2", "events": [{"params": {}}] * 2},
            *("VALIDATION_ERROR", "'name' of an event is required", 2),
        ),
        ("/g/collect?tid=x", b"cid=1", "VALIDATION_ERROR", "'name' of an event is required", 1),
    ],
    ids=["not JSON", "too many events", "invalid events", "an invalid hit"],
)
def test_google_analytics_refusals_are_named_and_counted_although_the_reply_is_a_success(
    collector: InMemoryCollector, path: str, body: object, code: str, message: str, items: int
) -> None:
    route = path.partition("?")[0]
    before = rejected_items(route)

    assert post(collector, "ga4", path, body) == (204, "")

    [request] = collector.recent.latest("shop")
    named = [(one.code, one.message[: len(message)], one.count) for one in request.rejections()]
    assert named == [(code, message, 1)] * items
    assert rejected_items(route) - before == items


def test_an_origin_that_google_analytics_may_not_be_used_on_is_named(
    collector: InMemoryCollector,
) -> None:
    collector.add_alias("ga4", "x")
    collector.set_allowed_origins("shop", "https://shop.example")
    before = rejected_items("/mp/collect")

    reply = collector.post(
        "/mp/collect?measurement_id=x", GA4, headers={"origin": "https://evil.example"}
    )

    [request] = collector.recent.latest("shop")
    assert (reply.status, request.error and request.error.code) == (204, "ACCESS_DENIED")
    assert rejected_items("/mp/collect") - before == 1


def rejected_items(route: str) -> float:
    return REJECTED_ITEMS.labels(route)._value.get()  # type: ignore[no-any-return]


def test_a_refused_request_of_a_product_with_errors_is_named_too(
    collector: InMemoryCollector,
) -> None:
    before = rejected_items("/api/event")

    status, _ = post(collector, "plausible", "/api/event", {"n": "a", "d": "x"})

    [request] = collector.recent.latest("shop")
    [refused] = request.rejections()
    assert (status, refused.message) == (400, "'url' is required")
    assert rejected_items("/api/event") == before


def test_google_analytics_is_told_when_events_cannot_be_kept(collector: InMemoryCollector) -> None:
    collector.producer.unavailable_reason = "no broker"

    assert post(collector, "ga4", "/mp/collect?measurement_id=x", GA4)[0] == 503


def test_matomo_hits(collector: InMemoryCollector) -> None:
    hits = [
        "?idsite=x&rec=1&url=https%3A%2F%2Fs.example%2Fa&action_name=A&_id=0123456789abcdef"
        "&uid=u1&res=800x600&lang=de%2Cen&cdt=2026-11-18+11%3A06%3A40&dimension1=pro"
        "&pf_net=1&pf_srv=2&pf_tfr=3&pf_dm1=4&pf_dm2=5&pf_onl=6",
        "?idsite=x&rec=1&e_c=Video&e_a=Play&e_n=Intro&e_v=3.5&cid=c1",
        "?idsite=x&rec=1&idgoal=0&ec_id=T1&revenue=49.90&ec_items=%5B%5B%22sku%22%5D%5D&cid=c1",
        "?idsite=x&rec=1&link=https%3A%2F%2Fo.example%2F&cid=c1",
        "?idsite=x&rec=1&ping=1&url=https%3A%2F%2Fs.example%2Fa&cid=c1",
        "?idsite=x&rec=1&c_n=Banner&cid=c1",
        "?idsite=x&rec=1&ca=1&cra=boom&cra_tp=TypeError&cra_rl=3&url=https%3A%2F%2Fs.example%2F&cid=c1",
    ]

    reply = post(collector, "matomo", "/matomo.php", {"requests": hits})

    assert (reply[0], json.loads(reply[1])) == (
        200,
        {"status": "success", "tracked": 7, "invalid": 0},
    )
    assert sent(collector) == [
        (
            "events",
            {
                "name": "screen_view",
                "anonymousId": "0123456789abcdef",
                "profileId": "u1",
                "timestamp": "2026-11-18T11:06:40Z",
                "path": "https://s.example/a",
                "language": "de",
                "screen_resolution": "800x600",
                "title": "A",
                "properties": {"dimension1": "pro"},
                "ttfb": 3,
                "request_time": 5,
                "dom_interactive": 10,
                "load_time": 21,
            },
        ),
        (
            "events",
            {
                "name": "Play",
                "anonymousId": "c1",
                "properties": {"category": "Video", "label": "Intro", "value": 3.5},
            },
        ),
        (
            "events",
            {
                "name": "order",
                "anonymousId": "c1",
                "properties": {"order_id": "T1", "revenue": 49.9, "items": [["sku"]]},
            },
        ),
        ("events", {"name": "outgoing_link", "anonymousId": "c1", "href": "https://o.example/"}),
        (
            "events",
            {
                "name": "page_exit",
                "anonymousId": "c1",
                "path": "https://s.example/a",
                "time_on_page": 15,
            },
        ),
        (
            "errors",
            {
                "message": "boom",
                "anonymousId": "c1",
                "path": "https://s.example/",
                "errorType": "TypeError",
                "lineno": 3,
            },
        ),
    ]


def test_matomo_replies_with_an_image_or_nothing(collector: InMemoryCollector) -> None:
    collector.add_alias("matomo", "x")
    hit = "/matomo.php?idsite=x&rec=1&url=https://s.example/"

    image, nothing = collector.get(hit), collector.get(f"{hit}&send_image=0")

    assert (image.status, image.headers["content-type"], image.body[:6]) == (
        200,
        "image/gif",
        b"GIF89a",
    )
    assert (nothing.status, nothing.body) == (204, b"")


AMPLITUDE = {
    "api_key": "x",
    "client_upload_time": "2026-11-18T11:06:40Z",
    "events": [
        {
            "event_type": "[Amplitude] Page Viewed",
            "device_id": "d1",
            "session_id": 1795000000000,
            "time": NOW,
            "insert_id": "i1",
            "language": "de",
            "event_properties": {
                "[Amplitude] Page URL": "https://s.example/a",
                "[Amplitude] Page Title": "A",
                "referrer": "https://o.example/",
            },
        },
        {
            "event_type": "Buy",
            "user_id": "u1",
            "device_id": "d1",
            "session_id": -1,
            "event_properties": {"size": "L"},
            "user_properties": {"$set": {"plan": "pro"}, "$unset": {"x": "-"}, "utm": "EMPTY"},
            "revenue": 5,
        },
        {"event_type": "$identify", "user_id": "u1", "device_id": "d1",
         "user_properties": {"$setOnce": {"first": 1}}},
        {"event_type": "$groupidentify", "groups": {"a": "b"}},
    ],
}  # fmt: skip


def test_amplitude_events(collector: InMemoryCollector) -> None:
    status, text = post(collector, "amplitude", "/2/httpapi", AMPLITUDE)

    reply = json.loads(text)
    assert (status, reply["code"], reply["events_ingested"]) == (200, 200, 4)
    at = {"sentAt": "2026-11-18T11:06:40Z"}
    assert sent(collector) == [
        (
            "events",
            {
                "name": "screen_view",
                "eventId": "d1:i1",
                "anonymousId": "d1",
                "sessionId": "d1.1795000000000",
                "timestamp": NOW,
                **at,
                "path": "https://s.example/a",
                "title": "A",
                "referrer": "https://o.example/",
                "language": "de",
            },
        ),
        (
            "events",
            {
                "name": "Buy",
                "anonymousId": "d1",
                **at,
                "profileId": "u1",
                "properties": {"size": "L", "revenue": 5},
            },
        ),
        (
            "identities",
            {"profileId": "u1", "traits": {"plan": "pro"}, "anonymousId": "d1", **at},
        ),
        ("identities", {"profileId": "u1", "traits": {"first": 1}, "anonymousId": "d1", **at}),
    ]


def test_amplitude_names_what_must_not_be_sent_again(collector: InMemoryCollector) -> None:
    no_type = post(collector, "amplitude", "/2/httpapi", {"api_key": "x", "events": [{}]})
    no_key = post(collector, "amplitude", "/2/httpapi", {"api_key": "y", **{"events": [{}]}})

    assert [status for status, _ in (no_type, no_key)] == [400, 400]
    assert json.loads(no_type[1])["events_with_invalid_fields"] == {"event": [0]}
    assert json.loads(no_key[1])["missing_field"] == "api_key"


def test_amplitude_clients_wait_when_there_are_too_many_requests() -> None:
    reply = error(RateLimitExceeded(120, "2026-11-21T10:00:00.000Z", 30), None)

    body = json.loads(reply.body)
    assert (reply.status, body["code"]) == (429, 429)
    assert body["throttled_events"] == list(range(1000))  # of those, none is sent again at once


MIXPANEL = [
    {
        "event": "$mp_web_page_view",
        "properties": {
            "token": "x",
            "time": NOW / 1000,
            "distinct_id": "$device:d1",
            "$device_id": "d1",
            "$insert_id": "i1",
            "$current_url": "https://s.example/a",
            "current_page_title": "A",
            "$screen_width": 800,
            "$screen_height": 600,
            "mp_lib": "web",
        },
    },
    {
        "event": "Buy",
        "properties": {
            "token": "x",
            "distinct_id": "u1",
            "$user_id": "u1",
            "total": 5,
            "$os": "Linux",
            "utm_source": "mail",
        },
    },
    {
        "event": "$identify",
        "properties": {"token": "x", "$identified_id": "u1", "$anon_id": "$device:d1"},
    },
]


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(MIXPANEL).encode(),
        b"data=" + base64.b64encode(json.dumps(MIXPANEL).encode()).replace(b"+", b"%2B"),
    ],
    ids=["json", "form"],
)
def test_mixpanel_events(collector: InMemoryCollector, body: bytes) -> None:
    reply = post(collector, "mixpanel", "/track/?verbose=1", body)

    assert (reply[0], json.loads(reply[1])) == (200, {"status": 1, "error": None})
    assert sent(collector) == [
        (
            "events",
            {
                "name": "screen_view",
                "eventId": "d1:i1",
                "anonymousId": "d1",
                "timestamp": NOW,
                "path": "https://s.example/a",
                "title": "A",
                "source": "web",
                "screen_resolution": "800x600",
            },
        ),
        (
            "events",
            {
                "name": "Buy",
                "anonymousId": "u1",
                "profileId": "u1",
                "utm_source": "mail",
                "properties": {"total": 5},
            },
        ),
        ("identities", {"profileId": "u1", "anonymousId": "d1"}),
    ]


def test_mixpanel_forms_may_have_base64_as_it_is(collector: InMemoryCollector) -> None:
    properties = {"token": "x", "distinct_id": "u1", "note": "\u00ff>>>"}
    data = base64.b64encode(json.dumps([{"event": "Noted", "properties": properties}]).encode())
    assert b"+" in data

    assert post(collector, "mixpanel", "/track/", b"data=" + data) == (200, "1")
    noted = {"name": "Noted", "anonymousId": "u1", "profileId": "u1"}
    assert sent(collector) == [("events", {**noted, "properties": {"note": "\u00ff>>>"}})]


def test_mixpanel_shares_the_path_of_our_events(collector: InMemoryCollector) -> None:
    collector.add_alias("mixpanel", "x")
    data = base64.urlsafe_b64encode(json.dumps(MIXPANEL[1]).encode()).decode()
    form = {"content-type": "application/x-www-form-urlencoded"}

    theirs = collector.post("/track", f"data={data}".encode(), headers=form)
    image = collector.get(f"/track?data={data}")
    ours = [
        collector.post("/track?website_id=shop", b'{"name": "Buy"}', headers=headers)
        for headers in ({}, form)  # curl's `-d` says that it sends a form
    ]

    assert [reply.body for reply in (theirs, image)] == [b"1", b"1"]
    assert [json.loads(reply.body)["type"] for reply in ours] == ["custom_event", "custom_event"]
    assert [item["name"] for _, item in sent(collector)] == ["Buy"] * 4


def test_mixpanel_profiles(collector: InMemoryCollector) -> None:
    changes = [
        {"$token": "x", "$distinct_id": "u1", "$set": {"plan": "pro"}, "$set_once": {"plan": "a"}},
        {"$token": "x", "$distinct_id": "u1", "$add": {"n": 1}},
    ]

    assert post(collector, "mixpanel", "/engage", changes) == (200, "1")
    assert sent(collector) == [("identities", {"profileId": "u1", "traits": {"plan": "pro"}})]


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_snowplow_events(collector: InMemoryCollector) -> None:
    signup = {"schema": "iglu:com.acme/signup/jsonschema/1-0-0", "data": {"plan": "pro"}}
    described = {"schema": "iglu:x/unstruct_event/jsonschema/1-0-0", "data": signup}
    session = {"schema": "iglu:x/client_session/jsonschema/1-0-2", "data": {"sessionId": "s9"}}
    common = {"aid": "x", "p": "web", "duid": "d1", "sid": "s1", "url": "https://s.example/a"}
    data = [
        {**common, "e": "pv", "eid": "e1", "page": "A", "dtm": str(NOW - 9_000),
         "stm": str(NOW - 1_000), "refr": "https://o.example/"},
        {**common, "e": "se", "se_ca": "Video", "se_ac": "Play", "se_va": "3.5", "ttm": str(NOW)},
        {"e": "ue", "aid": "x", "uid": "u1", "ue_px": encoded(described),
         "cx": encoded({"data": [session]})},
        {**common, "e": "pp", "ds": "1000x2000", "vp": "1000x500", "pp_may": "500"},
        {**common, "e": "tr", "tr_id": "T1", "tr_tt": "49.90", "tr_cu": "EUR"},
        {**common, "e": "ue", "ue_pr": "no json"},
    ]  # fmt: skip

    reply = post(collector, "snowplow", "/com.snowplowanalytics.snowplow/tp2", {"data": data})

    of_page = {"anonymousId": "d1", "sessionId": "s1", "path": "https://s.example/a"}
    assert reply == (200, "ok")
    assert sent(collector) == [
        (
            "events",
            {
                "name": "screen_view",
                "eventId": "e1",
                **of_page,
                "timestamp": NOW - 8_000,
                "title": "A",
                "referrer": "https://o.example/",
            },
        ),
        (
            "events",
            {
                "name": "Play",
                **of_page,
                "timestamp": NOW,
                "properties": {"category": "Video", "value": 3.5},
            },
        ),
        (
            "events",
            {
                "name": "signup",
                "anonymousId": "u1",
                "sessionId": "s9",
                "profileId": "u1",
                "namespace": "com.acme",
                "properties": {"plan": "pro"},
            },
        ),
        (
            "events",
            {"name": "page_exit", "scroll_depth": 50.0, **of_page, "viewport_size": "1000x500"},
        ),
        (
            "events",
            {
                "name": "transaction",
                **of_page,
                "properties": {"order_id": "T1", "revenue": 49.9, "currency": "EUR"},
            },
        ),
    ]


def test_snowplow_forgets_what_cannot_be_stored_and_keeps_what_may_be(
    collector: InMemoryCollector,
) -> None:
    path = "/com.snowplowanalytics.snowplow/tp2"

    poison = post(collector, "snowplow", path, {"data": [{"e": "pv", "aid": "x", "eid": [7]}]})
    unknown = post(collector, "snowplow", path, {"data": [{"e": "pv", "aid": "y"}]})
    collector.producer.unavailable_reason = "no broker"
    away = post(collector, "snowplow", path, {"data": [{"e": "pv", "aid": "x"}]})

    assert [status for status, _ in (poison, unknown, away)] == [200, 400, 503]


def test_open_telemetry_logs_in_both_encodings(collector: InMemoryCollector) -> None:
    def attributes(**values: str) -> list[dict[str, Any]]:
        return [
            {"key": name.replace("_", "."), "value": {"stringValue": value}}
            for name, value in values.items()
        ]

    page = {"session_id": "s1", "user_id": "u1", "url_full": "https://s.example/a"}
    vital = [*attributes(url_full="https://s.example/a", name="lcp"),
             {"key": "value", "value": {"doubleValue": 1200.5}}]  # fmt: skip
    at = {"timeUnixNano": str(NOW * 1_000_000)}
    thrown = attributes(exception_type="TypeError", exception_message="boom", cart="full")
    records = [
        {**at, "eventName": "order", "attributes": [*attributes(**page),
         {"key": "total", "value": {"intValue": "5"}}]},
        {**at, "eventName": "browser.web_vital", "attributes": vital},
        {**at, "attributes": thrown},
        {**at, "body": {"stringValue": "a log line"}},
    ]  # fmt: skip
    version = {"key": "service.version", "value": {"stringValue": "2.4.1"}}
    logs = {
        "resourceLogs": [
            {"resource": {"attributes": [version]}, "scopeLogs": [{"logRecords": records}]}
        ]
    }
    message = json_format.ParseDict(logs, ExportLogsServiceRequest())
    collector.add_alias("otlp", "x")

    json_reply = collector.post("/v1/logs?token=x", logs)
    binary_reply = collector.post(
        "/v1/logs?token=x",
        message.SerializeToString(),
        headers={"content-type": "application/x-protobuf"},
    )

    expected = [
        (
            "events",
            {
                "name": "order",
                "timestamp": NOW,
                "sessionId": "s1",
                "profileId": "u1",
                "anonymousId": "u1",
                "path": "https://s.example/a",
                "properties": {"total": 5},
            },
        ),
        (
            "vitals",
            {
                "metricName": "LCP",
                "metricValue": 1200.5,
                "timestamp": NOW,
                "path": "https://s.example/a",
            },
        ),
        (
            "errors",
            {
                "message": "boom",
                "timestamp": NOW,
                "errorType": "TypeError",
                "release": "2.4.1",
                "properties": {"cart": "full"},
            },
        ),
    ]
    assert (json_reply.status, json_reply.body) == (200, b"{}")
    assert (binary_reply.status, binary_reply.body) == (200, b"")
    assert binary_reply.headers["content-type"] == "application/x-protobuf"
    assert sent(collector) == [*expected, *expected]


def test_a_time_on_a_page_of_several_days_is_cut_to_one(collector: InMemoryCollector) -> None:
    engagement = {"engagement_time_msec": 200_000_000, "page_location": "https://s.example/"}
    body = {"client_id": "1.2", "events": [{"name": "user_engagement", "params": engagement}]}

    assert post(collector, "ga4", "/mp/collect?measurement_id=x", body)[0] == 204
    assert [item["time_on_page"] for _, item in sent(collector)] == [86_400]
