"""Replays over HTTP: what may be sent again by whom, and what a response shows of the items."""

from typing import Any

import pytest

from schemas.registry import ErasureState, Replay, ReplayState, Selector
from schemas.registry.records import Erasure
from tests.query.query_service import NOW, InProcessService

PATH = "/v1/quarantine/replays"
SAMPLE = {
    "position": "events/0/12/3",
    "stage": "decode",
    "reason": "Expected `str`",
    "problem": None,
    "hasSender": True,
    "item": '{"name":"7"}',
}
OUTCOME = {
    "items": 1,
    "problem": None,
    "stage": "decode",
    "reason": "Expected `str`",
    "position": "events/0/12/3",
}
PLANNED = {"outcomes": [OUTCOME], "samples": [SAMPLE]}


def ask(service: InProcessService, method: str = "POST", path: str = PATH, **body: Any) -> Any:
    return service.ask(method, path, body or None, key="acme-admin")


def test_a_replay_is_a_record_that_waits_for_the_keeper(unused_service: InProcessService) -> None:
    service = unused_service
    repairs = ["name = text", "properties.total = number"]

    made = ask(service, websiteId="shop", reasonContains="`str`", stage="decode", set=repairs)
    tried = ask(service, linkId="go", position="clicks/0/12/3", dryRun=True)
    trail = service.ask("GET", "/v1/audit", None, key="acme-admin").json["data"]

    assert (made.status, tried.status) == (201, 201)
    record = service.store.get(Replay, made.json["data"]["id"])
    assert (record.website_id, record.days, record.state) == ("shop", 7, ReplayState.PENDING)
    assert (record.reason_contains, record.item_changes) == ("`str`", tuple(repairs))
    assert made.json["data"]["set"] == repairs
    assert (tried.json["data"]["state"], tried.json["data"]["report"]) == ("planning", {})
    assert [entry["kind"] for entry in trail].count("replay") == 2


def test_items_are_shown_with_one_replay_only_and_not_after_an_erasure(
    unused_service: InProcessService,
) -> None:
    service = unused_service
    name = ask(service, websiteId="shop", dryRun=True).json["data"]["id"]
    planned: Any = {"state": ReplayState.PLANNED, "planned_items": PLANNED}
    service.store.update(Replay, name, NOW, report={"items": 1, "sendable": 1}, **planned)

    shown = ask(service, "GET", f"{PATH}/{name}").json["data"]
    [listed] = ask(service, "GET").json["data"]
    erasure = {"selector": Selector.VISITOR, "value_hashes": (), "state": ErasureState.DONE}
    stamps = {"created_at": NOW + 1, "updated_at": NOW + 1}
    service.store.create(
        Erasure(id="e", organization_id="acme", website_id="shop", **erasure, **stamps)  # type: ignore[arg-type]
    )
    service.follower.refresh()
    after = ask(service, "GET", f"{PATH}/{name}").json["data"]

    assert (shown["outcomes"], shown["samples"]) == ([OUTCOME], [SAMPLE])
    assert shown["report"] == {"items": 1, "sendable": 1}
    assert "samples" not in listed
    assert (after["outcomes"], after["samples"]) == ([], [])


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"days": 7}, 400, "exactly one of 'websiteId' and 'linkId'"),
        ({"websiteId": "shop", "linkId": "go"}, 400, "exactly one of 'websiteId' and 'linkId'"),
        ({"websiteId": "shop", "position": "events/0/12"}, 400, "'position' must be TOPIC/PARTIT"),
        ({"websiteId": "shop", "set": ["name"]}, 400, "'set' has 'name': give PATH = VALUE"),
        ({"websiteId": "shop", "set": ["eventId = a"]}, 400, "'eventId' cannot be set"),
        ({"websiteId": "shop", "reasonContains": "a\0"}, 400, "'reasonContains'"),
        ({"websiteId": "shop", "stage": "lost"}, 400, "'stage'"),
        ({"websiteId": "shop", "days": 0}, 400, "'days'"),
        ({"websiteId": "shop", "where": "x"}, 400, "'where'"),
        ({"websiteId": "rival"}, 403, "website"),
        ({"linkId": "away"}, 403, "link"),
    ],
)
def test_what_cannot_be_replayed_is_refused_by_name(
    service: InProcessService, body: dict[str, Any], status: int, error: str
) -> None:
    reply = ask(service, **body)

    assert reply.status == status
    assert error in reply.json["error"]
