"""History of other products' clients: to the open import, with an API key of the website only."""

import base64
import json
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from ingest.endpoints.protocols import HISTORY_REFUSED
from schemas.envelope import Envelope
from schemas.registry import Import, ImportState
from tests.ingest.in_memory_collector import NOW, InMemoryCollector

THEN = 1_551_441_600_000
"""2019-03-01 12:00:00 UTC."""
THEN_TEXT = "2019-03-01T12:00:00Z"


def open_import(
    collector: InMemoryCollector, product: str, state: ImportState = ImportState.OPEN
) -> None:
    """Import `imp_h` of shop."""
    one = Import(
        id="imp_h", organization_id="acme", website_id="shop", name="history", product=product,
        state=state, created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    snapshot = collector.registry.snapshot
    imports = MappingProxyType({**snapshot.imports, one.id: one})
    collector.registry.snapshot = msgspec.structs.replace(snapshot, imports=imports)


def basic(user: str, password: str = "") -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def history(collector: InMemoryCollector) -> list[dict[str, Any]]:
    """The items for the import; all are in envelopes as those of a file."""
    found: list[dict[str, Any]] = []
    for request in collector.producer.sent:
        if request.topic != "backfill":
            continue
        for one in request.envelopes:
            assert one == Envelope(
                subject_id="shop", organization_id="acme", received_ms=NOW, count=one.count,
                items=one.items, trusted=True, import_id="imp_h",
            )  # fmt: skip
            found += json.loads(one.items)
    return found


def dropped(collector: InMemoryCollector) -> list[tuple[str, int]]:
    return [
        (one.drop_reason, one.count)
        for request in collector.producer.sent
        for one in request.envelopes
        if request.topic != "backfill"
    ]


def segment_batch(key: str) -> dict[str, Any]:
    return {
        "writeKey": key,
        "batch": [
            {
                "type": "track", "event": "Order", "messageId": "m1", "anonymousId": "a1",
                "timestamp": THEN_TEXT, "properties": {"total": 5},
                "context": {"userAgent": "Firefox", "ip": "203.0.113.9"},
            },
            {"type": "identify", "userId": "u1", "messageId": "m2", "timestamp": THEN_TEXT},
            {"type": "group", "userId": "u1", "groupId": "g", "timestamp": THEN_TEXT},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/import", "/segment/v1/import", "/rudderstack/v1/import"])
def test_a_batch_of_segment(collector: InMemoryCollector, path: str) -> None:
    open_import(collector, "rudderstack" if "rudder" in path else "segment")

    reply = collector.post(path, segment_batch(collector.keys["acme-shop"]))

    assert reply.status == 200
    assert history(collector) == [
        {
            "name": "Order",
            "eventId": "m1",
            "anonymousId": "a1",
            "timestamp": THEN_TEXT,
            "properties": {"total": 5},
            "user_agent": "Firefox",
        }
    ]
    assert sorted(dropped(collector)) == [("group", 1), ("identity in history", 1)]


POSTHOG = {
    "historical_migration": True,
    "batch": [
        {
            "event": "Signed Up", "distinct_id": "u1", "uuid": "e1", "timestamp": THEN_TEXT,
            "properties": {"plan": "pro", "$set": {"name": "Ada"}, "$is_identified": True},
        },
        {"event": "Later", "distinct_id": "u1", "uuid": "e2", "timestamp": None},
    ],
}  # fmt: skip
POSTHOG_EVENT = {
    "name": "Signed Up",
    "eventId": "e1",
    "anonymousId": "u1",
    "profileId": "u1",
    "timestamp": THEN_TEXT,
    "properties": {"plan": "pro"},
}


def test_a_migration_of_posthog(collector: InMemoryCollector) -> None:
    open_import(collector, "posthog")

    reply = collector.post("/batch/", {"api_key": collector.keys["acme-shop"], **POSTHOG})

    assert (reply.status, reply.json) == (200, {"status": "Ok"})
    assert history(collector) == [POSTHOG_EVENT]
    assert dropped(collector) == [("identity in history", 1)]


def test_a_migration_of_posthog_with_the_result_of_each_event(collector: InMemoryCollector) -> None:
    open_import(collector, "posthog")

    reply = collector.post("/i/v1/analytics/events", POSTHOG, key="acme-shop")

    assert reply.json == {
        "results": {
            "e1": {"result": "warning", "details": "'identity in history' is not stored"},
            "e2": {"result": "drop", "details": "'timestamp' is required"},
        }
    }
    assert history(collector) == [POSTHOG_EVENT]


MIXPANEL: list[dict[str, Any]] = [
    {
        "event": "Order",
        "properties": {
            "time": THEN // 1000, "distinct_id": "u1", "$insert_id": "i1", "total": 5,
        },
    },
    {"event": "Late", "properties": {"distinct_id": "u1", "$insert_id": "i2"}},
]  # fmt: skip
MIXPANEL_EVENT = {
    "name": "Order",
    "eventId": "u1:i1",
    "anonymousId": "u1",
    "profileId": "u1",
    "timestamp": THEN,
    "properties": {"total": 5},
}


@pytest.mark.parametrize("form", ["array", "lines", "secret of a service account", "prefix"])
def test_an_import_of_mixpanel_names_what_is_wrong(collector: InMemoryCollector, form: str) -> None:
    open_import(collector, "mixpanel")
    key = collector.keys["acme-shop"]
    account = basic("account", key) if form.startswith("secret") else basic(key)
    lines = b"\n".join(json.dumps(one).encode() for one in MIXPANEL)
    path = "/mixpanel/import" if form == "prefix" else "/import"

    reply = collector.post(
        f"{path}?strict=1", lines if form == "lines" else MIXPANEL, headers=account
    )

    assert (reply.status, reply.json) == (
        400,
        {
            "code": 400,
            "error": "some data points in the request failed validation",
            "failed_records": [
                {"index": 1, "insert_id": "i2", "field": "", "message": "'timestamp' is required"}
            ],
            "num_records_imported": 1,
            "status": "Bad Request",
        },
    )
    assert history(collector) == [MIXPANEL_EVENT]


def test_an_import_of_mixpanel_without_a_valid_event(collector: InMemoryCollector) -> None:
    open_import(collector, "mixpanel")

    reply = collector.post("/import", MIXPANEL[1:], headers=basic(collector.keys["acme-shop"]))

    assert (reply.status, reply.json["num_records_imported"]) == (400, 0)
    assert [one["index"] for one in reply.json["failed_records"]] == [0]
    assert collector.producer.sent == []


def test_an_import_of_mixpanel_as_its_python_client_sends_it(collector: InMemoryCollector) -> None:
    open_import(collector, "mixpanel")
    data = base64.b64encode(json.dumps(MIXPANEL[0]).encode()).decode()
    form = {"content-type": "application/x-www-form-urlencoded"}

    reply = collector.post(
        "/import", f"verbose=1&ip=0&data={data}".encode(),
        headers={**form, **basic(collector.keys["acme-shop"])},
    )  # fmt: skip

    assert reply.json == {"status": 1, "error": None}
    assert history(collector) == [MIXPANEL_EVENT]


@pytest.mark.parametrize("path", ["/batch", "/amplitude/batch"])
def test_a_batch_of_amplitude_is_history_when_it_is_old(
    collector: InMemoryCollector, path: str
) -> None:
    open_import(collector, "amplitude")
    event = {"event_type": "Order", "device_id": "d1", "insert_id": "i1", "session_id": 7}
    body = {"api_key": collector.keys["acme-shop"], "client_upload_time": "2026-01-01T00:00:00Z"}

    old = collector.post(path, {**body, "events": [{**event, "time": THEN}]})
    new = collector.post(path, {**body, "events": [{**event, "time": NOW - 1}]})

    assert (old.json["code"], old.json["events_ingested"], new.json["code"]) == (200, 1, 200)
    assert history(collector) == [
        {
            "name": "Order",
            "eventId": "d1:i1",
            "anonymousId": "d1",
            "sessionId": "d1.7",
            "timestamp": THEN,
            "sentAt": "2026-01-01T00:00:00Z",
        }
    ]
    assert [request.topic for request in collector.producer.sent] == ["backfill", "events"]


def test_our_own_batches_stay_ours(collector: InMemoryCollector) -> None:
    item = {"type": "track", "payload": {"name": "Order"}, "name": "Order"}
    own = collector.post("/batch?website_id=shop", [item])
    with_key = collector.post("/batch", [item], key="acme-shop")
    without = collector.post("/batch", [item])

    assert (own.json["status"], with_key.json["status"]) == ("success", "success")
    assert (without.status, without.json["status"]) == (401, "error")


def test_hits_of_matomo_with_times_and_a_token(collector: InMemoryCollector) -> None:
    open_import(collector, "matomo")
    token = collector.keys["acme-shop"]
    hit = "idsite=7&rec=1&_id=0123456789abcdef&url=https%3A%2F%2Fs.example%2F&ua=Firefox"
    old = f"?{hit}&cdt=2019-03-01+12%3A00%3A00&action_name=Old"

    bulk = collector.post(
        "/matomo.php", {"requests": [old, f"?{hit}&cdt={THEN // 1000}&e_a=Play&e_c=V"],
                        "token_auth": token},
    )  # fmt: skip
    single = collector.get(f"/matomo.php{old}&token_auth={token}")

    common = {
        "anonymousId": "0123456789abcdef",
        "path": "https://s.example/",
        "user_agent": "Firefox",
    }
    view = {"name": "screen_view", "timestamp": "2019-03-01T12:00:00Z", "title": "Old", **common}
    event = {"name": "Play", "timestamp": THEN, "properties": {"category": "V"}, **common}
    assert bulk.json == {"status": "success", "tracked": 2, "invalid": 0}
    assert single.status == 200
    assert history(collector) == [view, event, view]


def test_history_of_matomo_is_of_one_site(collector: InMemoryCollector) -> None:
    open_import(collector, "matomo")
    hits = [f"?idsite={n}&rec=1&url=https%3A%2F%2Fs.example%2F&cdt={THEN // 1000}" for n in (1, 2)]

    body = {"requests": hits, "token_auth": collector.keys["acme-shop"]}
    reply = collector.post("/matomo.php", body)

    assert (reply.status, reply.json["tracked"]) == (400, 0)
    assert "must have the same 'idsite'" in reply.json["message"]


@pytest.mark.parametrize(
    ("product", "path", "body", "status"),
    [
        ("segment", "/v1/import", segment_batch("x"), 403),
        ("rudderstack", "/rudderstack/v1/import", segment_batch("x"), 401),
        ("posthog", "/batch/", {"api_key": "x", **POSTHOG}, 401),
        ("mixpanel", "/mixpanel/import",
         [{"event": "a", "properties": {"token": "x", "time": THEN}}], 403),
        ("amplitude", "/batch", {"api_key": "x", "events": [{"event_type": "a", "time": THEN}]},
         400),
        ("matomo", "/matomo.php",
         {"requests": [f"?idsite=x&rec=1&cdt={THEN}"], "token_auth": "old"}, 403),
    ],
)  # fmt: skip
def test_an_alias_alone_brings_no_history(
    collector: InMemoryCollector, product: str, path: str, body: object, status: int
) -> None:
    collector.add_alias(product, "x")
    open_import(collector, product)

    reply = collector.post(path, body)

    assert reply.status == status
    assert HISTORY_REFUSED.format(product=product) in reply.body.decode()
    assert f"tidemark adopt {product} WEBSITE --history" in reply.body.decode()
    assert collector.producer.sent == []


@pytest.mark.parametrize(
    ("key", "product", "state"),
    [
        ("acme-shop", "rudderstack", ImportState.OPEN),
        ("acme-shop", "segment", ImportState.DONE),
        ("acme-shop", "segment", ImportState.UNDONE),
        ("solo", "segment", ImportState.OPEN),
        ("acme", "segment", ImportState.OPEN),
        ("reader", "segment", ImportState.OPEN),
    ],
)
def test_a_key_needs_an_open_import_of_the_product_for_its_website(
    collector: InMemoryCollector, key: str, product: str, state: ImportState
) -> None:
    open_import(collector, product, state)

    reply = collector.post("/v1/import", segment_batch(collector.keys[key]))

    assert reply.status == 403
    assert collector.producer.sent == []


def test_more_events_than_an_import_takes_at_once(collector: InMemoryCollector) -> None:
    open_import(collector, "mixpanel")
    events = [
        {"event": "a", "properties": {"time": THEN // 1000 + n, "$insert_id": str(n)}}
        for n in range(1_100)
    ]

    reply = collector.post("/import", events, headers=basic(collector.keys["acme-shop"]))

    assert reply.json == {"code": 200, "num_records_imported": 1_100, "status": "OK"}
    assert [item["timestamp"] for item in history(collector)] == [
        THEN + 1000 * n for n in range(1_100)
    ]
