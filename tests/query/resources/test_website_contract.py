"""The event contract of a website over HTTP: what is put is shown until it is removed."""

from typing import Any

import pytest

from tests.query.query_service import InProcessService

PATH = "/v1/websites/shop/contract"
CONTRACT = {"events": {"purchase": {"properties": {"total": {"type": "number"}, "plan": "text"}}}}


def test_a_contract_is_put_shown_and_removed(service: InProcessService) -> None:
    put = service.ask("PUT", PATH, {"contract": CONTRACT, "enforce": "refuse"}, key="acme-admin")
    shown = service.ask("GET", PATH)
    listed = service.ask("GET", "/v1/websites/shop")
    removed = service.ask("DELETE", PATH, key="acme-admin")
    without = service.ask("GET", PATH)

    data = put.json["data"]
    assert (put.status, data["websiteId"], data["enforce"]) == (200, "shop", "refuse")
    assert data["contract"]["events"]["purchase"]["properties"]["plan"] == "text"
    assert shown.json == put.json
    assert "contract" not in listed.json["data"]
    assert (removed.status, removed.json) == (200, {"success": True})
    assert without.json["data"] == {"websiteId": "shop", "contract": None, "enforce": "off"}
    newest = service.ask("GET", "/v1/audit", key="acme-admin", record_id="shop").json["data"][:2]
    assert [(entry["action"], entry["fields"]) for entry in newest] == [
        ("update", ["contract"])
    ] * 2


def test_the_registry_in_memory_follows_each_change(service: InProcessService) -> None:
    service.ask("PUT", PATH, {"contract": CONTRACT}, key="acme-admin")
    contract = service.follower.snapshot.contracts["shop"]
    service.ask("PUT", PATH, {"contract": CONTRACT, "enforce": "refuse"}, key="acme-admin")
    refusing = service.follower.snapshot.contracts["shop"]
    service.ask("DELETE", PATH, key="acme-admin")

    (drift,) = contract.checker.drifts("purchase", {"total": "1"})
    assert str(drift) == "'total' of 'purchase' is text, not number"
    assert (contract.refuses, refusing.refuses) == (False, True)
    assert service.follower.snapshot.contracts == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "'contract' is missing"),
        ({"contract": {}}, "'contract.events' is missing"),
        ({"contract": {"events": {}}}, "'contract.events' must not be empty"),
        ({"contract": CONTRACT, "enforce": "quarantine"}, "'enforce' "),
        ({"contract": {"events": {"a": {"properties": {"b": "int"}}}}}, "'contract.events[...].pr"),
        ({"contract": {"events": {"a" * 70_000: {}}}}, "'contract' may have at most 65,536 bytes"),
        (
            {
                "contract": {
                    "events": {"buy": {"properties": dict.fromkeys(map(str, range(251)), "any")}}
                }
            },
            "'contract.events' may have at most 250 properties of an event; 'buy' has 251",
        ),
        (
            {"contract": {"events": {"buy": {"properties": {".".join("abcdefghijk"): "any"}}}}},
            "'contract.events' has 'a.b.c.d.e.f.g.h.i.j.k'; a path has at most 10 members",
        ),
    ],
)
def test_what_is_no_contract_is_refused(
    service: InProcessService, body: dict[str, Any], message: str
) -> None:
    reply = service.ask("PUT", PATH, body, key="acme-admin")

    assert (reply.status, reply.json["error"][: len(message)]) == (400, message), reply.json
