"""Erasures over HTTP: what may be erased by whom, and that no response has the value."""

from typing import Any

import pytest

from schemas.registry import Erasure, ErasureState, Selector
from schemas.registry.validation import new_key
from tests.query.lake import a_view
from tests.query.query_service import NOW, InProcessService

PATH = "/v1/erasures"
VALUE = "visitor-to-forget"


def ask(service: InProcessService, method: str = "POST", path: str = PATH, **body: Any) -> Any:
    return service.ask(method, path, body or None, key="acme-admin")


def test_an_erasure_hides_its_rows_at_once(unused_service: InProcessService) -> None:
    service = unused_service
    service.holds(a_view("/"), a_view("/a", visitor=VALUE, session="s2"))

    made = ask(service, websiteId="shop", visitor=VALUE)

    assert made.status == 201
    record = service.store.get(Erasure, made.json["data"]["id"])
    assert (record.website_id, record.selector) == ("shop", Selector.VISITOR)
    assert service.rows("summary_metrics")[0]["pageviews"] == 1


def test_no_response_and_no_entry_of_the_audit_trail_has_the_value(
    unused_service: InProcessService,
) -> None:
    service = unused_service
    made = ask(service, websiteId="shop", property={"name": "email", "value": VALUE})
    name = made.json["data"]["id"]
    service.store.update(Erasure, name, NOW, state=ErasureState.DONE, erased_values=())

    shown = ask(service, "GET", f"{PATH}/{name}")
    listed = ask(service, "GET")
    trail = service.ask("GET", "/v1/audit", None, key="acme-admin")

    assert made.json["data"]["propertyName"] == "email"
    assert [entry["kind"] for entry in trail.json["data"]].count("erasure") == 2
    for reply in (made, shown, listed, trail):
        assert VALUE not in str(reply.json)
        assert "property:" not in str(reply.json)  # nor its tombstone


def test_a_dry_run_hides_nothing(unused_service: InProcessService) -> None:
    service = unused_service
    service.holds(a_view("/a", visitor=VALUE))

    made = ask(service, websiteId="shop", visitor=VALUE, dryRun=True)

    assert made.json["data"]["state"] == "counting"
    assert service.store.get(Erasure, made.json["data"]["id"]).erased_values == ()
    assert service.rows("summary_metrics")[0]["pageviews"] == 1
    assert not service.follower.snapshot.tombstones.of_subject("shop")


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"websiteId": "shop"}, 400, "exactly one of 'visitor', 'profile', 'session'"),
        ({"visitor": "v"}, 400, "exactly one of 'websiteId', 'linkId' and 'organizationId'"),
        ({"websiteId": "shop", "linkId": "go", "visitor": "v"}, 400, "exactly one of 'websiteId'"),
        ({"websiteId": "shop", "visitor": ""}, 400, "'visitor' must have 1 to 8,192 characters"),
        ({"websiteId": "shop", "visitor": "v" * 8_193}, 400, "'visitor' must have 1 to 8,192"),
        (
            {"websiteId": "shop", "property": {"name": "", "value": "v"}},
            400,
            "'property.name' must have 1 to 255 characters",
        ),
        ({"websiteId": "shop", "visitor": "v", "countOnly": True}, 400, "'countOnly'"),
        ({"websiteId": "rival", "visitor": "v"}, 403, "website"),
        ({"linkId": "away", "visitor": "v"}, 403, "link"),
        ({"organizationId": "globex", "visitor": "v"}, 403, "organization"),
    ],
)
def test_what_cannot_be_erased_is_refused_by_name(
    service: InProcessService, body: dict[str, Any], status: int, error: str
) -> None:
    reply = ask(service, **body)

    assert reply.status == status
    assert error in reply.json["error"]


def test_reading_does_not_permit_erasing(unused_service: InProcessService) -> None:
    service = unused_service
    key, text = new_key("acme", ["read:data", "manage:websites"], NOW)
    service.store.create(key)
    service.follower.refresh()
    service.keys["reader"] = text  # type: ignore[index]

    reply = service.ask("POST", PATH, {"websiteId": "shop", "visitor": "v"}, key="reader")

    assert (reply.status, "erase:visitors" in reply.json["error"]) == (403, True)
