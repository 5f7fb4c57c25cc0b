"""Events of a website with a contract: drift is told and counted, or the event is refused."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import structs

from schemas.registry.privacy import Privacy
from schemas.telemetry.instruments import REGISTRY
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.server.in_process_connection import a_post, exchange

CONTRACT: Mapping[str, Any] = {
    "events": {
        "purchase": {"properties": {"total": {"type": "number", "required": True}, "plan": "text"}}
    }
}
FITTING = {"name": "purchase", "properties": {"total": 12.5}}
DRIFTING = {"name": "purchase", "properties": {"total": "12.5", "coupon": "x"}}
UNLISTED = {"name": "sign_up"}
DRIFT = "'total' of 'purchase' is text, not number; 'coupon' of 'purchase' is not in the contract"
REFUSED = f"{DRIFT} (the contract of the website refuses it)"


def counted(outcome: str) -> float:
    labels = {"outcome": outcome}
    return REGISTRY.get_sample_value("tidemark_contract_drift_items_total", labels) or 0


def debug(collector: InMemoryCollector) -> dict[str, Any]:
    headers = {"x-api-key": collector.keys["reader"]}
    return dict(request_once(collector.app, "GET", "/debug?website_id=shop", headers=headers).json)


@pytest.mark.parametrize("path", ["/track", "/events", "/batch"])
def test_drift_is_told_in_the_response_and_in_debug_and_counted(
    collector: InMemoryCollector, path: str
) -> None:
    collector.set_contract("shop", CONTRACT, "off")
    before = counted("accepted")

    reply = collector.post(
        f"{path}?website_id=shop",
        [{"type": "custom", **item} for item in (FITTING, DRIFTING, UNLISTED, DRIFTING)]
        + [{"type": "track", "name": "screen_view", "path": "/"}],
    )

    assert reply.status == 200
    assert reply.json["drift"] == [
        {"index": 1, "names": ["total", "coupon"], "message": DRIFT},
        {"index": 2, "names": [], "message": "event 'sign_up' is not in the contract"},
        {"index": 3, "names": ["total", "coupon"], "message": DRIFT},
    ]
    assert len(collector.producer.sent[0].items) == 5
    assert counted("accepted") - before == 3
    shown = debug(collector)
    assert [line.get("drift") for line in shown["items"]] == [
        *(None, DRIFT, "event 'sign_up' is not in the contract", DRIFT, None),
    ]
    assert {(one["message"], one["count"], one["path"]) for one in shown["drifts"]} == {
        ("'total' of 'purchase' is text, not number", 2, path),
        ("'coupon' of 'purchase' is not in the contract", 2, path),
        ("event 'sign_up' is not in the contract", 1, path),
    }
    assert shown["rejections"] == []


def test_a_contract_that_refuses_rejects_the_items_that_differ(
    collector: InMemoryCollector,
) -> None:
    collector.set_contract("shop", CONTRACT, "refuse")
    before = counted("refused")

    some = collector.post("/track?website_id=shop", [DRIFTING, FITTING, UNLISTED, FITTING])
    none = collector.post("/track?website_id=shop", DRIFTING)
    batch = collector.post("/batch?website_id=shop", [{"type": "custom", **DRIFTING}, FITTING])

    assert (some.status, some.json["count"], "drift" in some.json) == (200, 2, False)
    assert some.json["rejected"] == [
        {"index": 0, "code": "CONTRACT_REFUSED", "message": REFUSED},
        {
            "index": 2,
            "code": "CONTRACT_REFUSED",
            "message": "event 'sign_up' is not in the contract "
            "(the contract of the website refuses it)",
        },
    ]
    assert (none.status, none.json["code"]) == (400, "NO_ITEM_ACCEPTED")
    assert none.json["message"] == f"No item was accepted. {REFUSED}"
    assert [result["status"] for result in batch.json["results"]] == ["error", "success"]
    assert [request.items for request in collector.producer.sent] == [[FITTING, FITTING], [FITTING]]
    assert counted("refused") - before == 4
    refusals = {
        (one["message"], one["path"]): one["count"] for one in debug(collector)["rejections"]
    }
    assert refusals[REFUSED, "/track"] == 2
    assert refusals[REFUSED, "/batch"] == 1


def test_what_the_privacy_of_the_website_leaves_out_is_no_drift(
    collector: InMemoryCollector,
) -> None:
    collector.set_contract("shop", CONTRACT, "refuse")
    snapshot = collector.registry.snapshot
    privacy = Privacy(never_store_properties=("tot*",))
    shop = structs.replace(snapshot.websites["shop"], privacy=privacy)
    websites = MappingProxyType({**snapshot.websites, "shop": shop})
    collector.registry.snapshot = structs.replace(snapshot, websites=websites)

    reply = collector.post("/track?website_id=shop", FITTING)

    assert (reply.status, "drift" in reply.json) == (200, False)
    [line] = debug(collector)["items"]
    assert (line["item"]["properties"], "drift" in line) == ({}, False)


def test_other_websites_kinds_and_imports_are_not_checked(collector: InMemoryCollector) -> None:
    collector.set_contract("shop", CONTRACT, "refuse")

    other_website = collector.post("/track?website_id=blog", UNLISTED)
    vital = {"path": "/", "metricName": "LCP", "metricValue": 812}
    other_kind = collector.post("/vitals?website_id=shop", [vital])

    assert (other_website.status, other_kind.status) == (200, 200), other_kind.json


def test_a_contract_of_another_tenant_is_not_told(collector: InMemoryCollector) -> None:
    collector.set_contract("shop", CONTRACT, "refuse")

    reply = collector.post("/track", [{"name": "a"}, {**UNLISTED, "websiteId": "shop"}], key="solo")

    assert (reply.status, reply.json["rejected"][0]["code"]) == (200, "ACCESS_DENIED")


def test_events_that_fit_stay_on_the_fast_path(collector: InMemoryCollector) -> None:
    collector.set_contract("shop", CONTRACT, "refuse")
    fitting = b'{"name": "purchase", "properties": {"total": 1}}'

    responses, ran = exchange(
        collector, [a_post(fitting), a_post(fitting), a_post(b'{"name": "sign_up"}')]
    )

    assert ran == 2
    assert [response[9:12] for response in responses] == [b"200", b"200", b"400"]
