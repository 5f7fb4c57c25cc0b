"""Websites over HTTP: what is created is listed, changed and deleted."""

from pathlib import Path
from typing import Any

import pytest

from schemas.registry import RecordConflict, RecordNotFound, Website, record_limits
from schemas.registry.keep_days import DAY_MS
from schemas.registry.records import Deletion
from schemas.registry.validation import new_key, new_website
from schemas.runtime.clock import format_instant
from tests.query.lake import an_event
from tests.query.query_service import NOW, InProcessService, start_service

WEBSITES = "/v1/websites"
WHEN = "2026-11-30T00:53:20.000Z"


def created(service: InProcessService, **fields: object) -> Any:
    reply = service.ask("POST", WEBSITES, {"domain": "new.example", **fields}, key="acme-admin")
    assert reply.status == 201, reply.json
    return reply.json["data"]


def test_a_website_is_created_with_defaults(service: InProcessService) -> None:
    website = created(service, domain="New.Example")

    assert website == {
        "id": website["id"],
        "organizationId": "acme",
        "name": "new.example",
        "domain": "new.example",
        "timezone": "UTC",
        "allowedOrigins": [],
        "keepDays": {},
        "privacy": PRIVACY,
        "createdAt": WHEN,
        "updatedAt": WHEN,
    }
    assert service.store.get(Website, website["id"]).organization_id == "acme"
    shown = service.ask("GET", f"{WEBSITES}/{website['id']}")
    assert shown.json == {"success": True, "data": website}


def test_a_website_that_was_created_is_queried_at_once(service: InProcessService) -> None:
    website = created(service, timezone="Asia/Kolkata")

    reply = service.query("summary", subject=website["id"])

    assert (reply.status, reply.json["meta"]["timezone"]) == (200, "Asia/Kolkata")


def test_given_fields_change_and_others_stay(service: InProcessService) -> None:
    website = created(service, name="Shop", timezone="Europe/Berlin")
    changes = {"allowedOrigins": ["HTTPS://Shop.Example:443/", "https://*.shop.example"]}

    reply = service.ask("PATCH", f"{WEBSITES}/{website['id']}", changes, key="acme-admin")

    origins = ["https://shop.example", "https://*.shop.example"]
    assert reply.json["data"] == website | {"allowedOrigins": origins}
    renamed = service.ask(
        "PATCH", f"{WEBSITES}/{website['id']}", {"name": "Blog"}, key="acme-admin"
    )
    assert renamed.json["data"] == website | {"allowedOrigins": origins, "name": "Blog"}
    assert service.store.changes(1)[0].actor.startswith("key:")


def test_a_list_has_what_the_key_reaches(service: InProcessService) -> None:
    def listed(key: str, **query: str) -> tuple[list[str], Any]:
        reply = service.ask("GET", WEBSITES, key=key, **query)
        return [website["id"] for website in reply.json["data"]], reply.json["meta"]

    assert listed("acme") == (["blog", "shop"], {"page": 1, "limit": 100, "total": 2})
    assert listed("acme", limit="1", page="2") == (["shop"], {"page": 2, "limit": 1, "total": 2})
    assert listed("acme-shop") == (["shop"], {"page": 1, "limit": 100, "total": 1})
    assert listed("globex")[0] == ["rival"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "'domain' is missing"),
        ({"domain": "no host"}, "'domain' is 'no host'; give a host name such as shop.example"),
        (
            {"domain": "a.example", "timezone": "Mars"},
            "'timezone' is 'Mars'; give an IANA name such as Europe/Berlin",
        ),
        (
            {"domain": "a.example", "allowedOrigins": ["shop"]},
            "'allowedOrigins' has 'shop'; give an origin such as https://shop.example or "
            "https://*.shop.example",
        ),
        ({"domain": "a.example", "name": " "}, "'name' must have 1 to 255 characters"),
        ({"domain": "a.example", "id": "web_1"}, "Unknown member 'id' in the body"),
    ],
)
def test_an_error_names_the_field_and_the_rule(
    service: InProcessService, body: object, message: str
) -> None:
    reply = service.ask("POST", WEBSITES, body, key="acme-admin")

    assert (reply.status, reply.json["error"].startswith(message)) == (400, True), reply.json
    assert service.store.count(Website, organization_id="acme") == 2


def test_a_deleted_website_takes_its_keys_along(service: InProcessService) -> None:
    path = f"{WEBSITES}/shop"

    unconfirmed = service.ask("DELETE", path, key="acme-admin")
    wrong = service.ask("DELETE", path, key="acme-admin", domain="blog.example")
    deleted = service.ask("DELETE", path, key="acme-admin", domain="shop.example")

    assert (unconfirmed.status, wrong.status) == (400, 400)
    assert "'domain' in the query string must be that of the website" in wrong.json["error"]
    assert deleted.json == {"success": True}
    assert service.ask("GET", path).status == 404
    assert service.ask("GET", "/v1/me", key="acme-shop").status == 401
    with pytest.raises(RecordNotFound):
        service.store.get(Website, "shop")


def test_another_tenants_website_answers_like_none(service: InProcessService) -> None:
    for method, body in (("GET", None), ("PATCH", {"name": "ours"}), ("DELETE", None)):
        rival, none = (
            service.ask(method, f"{WEBSITES}/{name}", body, key="acme-admin", **confirmed(method))
            for name in ("rival", "nowhere")
        )
        assert (rival.status, rival.json) == (none.status, none.json) == (404, rival.json)
    assert service.store.get(Website, "rival").name == ""


def confirmed(method: str) -> dict[str, str]:
    return {"domain": "rival.example"} if method == "DELETE" else {}


def test_a_key_of_one_website_changes_that_one_only(service: InProcessService) -> None:
    key, text = new_key("acme", ("manage:websites",), NOW, "shop")
    service.store.create(key)
    service.follower.refresh()
    keys = {**service.keys, "manager": text}
    service.keys = keys

    assert service.ask("PATCH", f"{WEBSITES}/shop", {"name": "S"}, key="manager").status == 200
    assert service.ask("PATCH", f"{WEBSITES}/blog", {"name": "S"}, key="manager").status == 404
    assert service.ask("POST", WEBSITES, {"domain": "a.example"}, key="manager").status == 403
    confirmed = service.ask("DELETE", f"{WEBSITES}/shop", key="manager", domain="shop.example")
    assert confirmed.status == 403


def test_an_organization_has_a_limit_of_websites(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limits, "MAX_RECORDS", {Website: 3})
    created(service)

    reply = service.ask("POST", WEBSITES, {"domain": "b.example"}, key="acme-admin")

    assert (reply.status, reply.json["error"]) == (
        409,
        "The organization has 3 websites, its maximum; delete one first",
    )


def test_the_rows_of_a_deleted_website_are_the_operators(service: InProcessService) -> None:
    service.holds(an_event())
    service.ask("DELETE", f"{WEBSITES}/shop", key="acme-admin", domain="shop.example")

    assert service.query("summary").status == 403
    with pytest.raises(RecordConflict, match="this id is that of a deleted website: restore"):
        service.store.create(new_website("acme", "shop.example", NOW, record_id="shop"))
    service.store.restore_deleted(Website, "shop")
    service.follower.refresh()
    assert service.rows("summary")[0]["total_events"] == 1


def test_a_deleted_website_is_restored_with_its_keys_and_goals(service: InProcessService) -> None:
    goal = {"name": "Buy", "event": "purchase"}
    service.ask("POST", "/v1/goals", goal, key="acme-admin", website_id="shop")
    goals = service.ask("GET", "/v1/goals", key="acme-admin", website_id="shop").json["data"]
    shown = service.ask("GET", f"{WEBSITES}/shop", key="acme-admin").json
    service.ask("DELETE", f"{WEBSITES}/shop", key="acme-admin", domain="shop.example")
    key, text = new_key("globex", ("admin",), NOW)
    service.store.create(key)
    service.follower.refresh()
    service.keys = {**service.keys, "away": text}

    path = f"{WEBSITES}/shop/restore"
    stranger = service.ask("POST", path, key="away")
    restored = service.ask("POST", path, key="acme-admin")

    assert (stranger.status, restored.status, restored.json) == (404, 200, shown)
    assert service.ask("GET", "/v1/me", key="acme-shop").status == 200
    again = service.ask("GET", "/v1/goals", key="acme-admin", website_id="shop").json["data"]
    assert len(again) == 1
    assert again == goals
    assert service.ask("POST", path, key="acme-admin").json == shown


def test_a_website_whose_purge_has_begun_is_not_restored(service: InProcessService) -> None:
    service.ask("DELETE", f"{WEBSITES}/shop", key="acme-admin", domain="shop.example")
    [deleted] = service.ask("GET", "/v1/deleted-websites", key="acme-admin").json["data"]
    deletion = service.store.get(Deletion, "shop")
    service.store.begin_purge(deletion)
    [purged] = service.ask("GET", "/v1/deleted-websites", key="acme-admin").json["data"]

    reply = service.ask("POST", f"{WEBSITES}/shop/restore", key="acme-admin")

    assert deleted == {
        "id": "shop",
        "name": "shop.example",
        "deletedAt": format_instant(deletion.created_at),
        "purgedFrom": format_instant(deletion.created_at + 30 * DAY_MS),
        "restorable": True,
        "purgedAt": None,
    }
    assert purged == {**deleted, "restorable": False}
    assert (reply.status, reply.json["error"]) == (
        409,
        "The rows of this website are purged: it cannot be restored",
    )


PRIVACY = {
    "doNotTrack": "ignore",
    "globalPrivacyControl": "ignore",
    "consent": "not_required",
    "location": "truncated",
    "neverStoreProperties": [],
    "neverStoreQuery": [],
    "maskTexts": True,
}


def test_privacy_is_changed_member_by_member(service: InProcessService) -> None:
    path, changes = f"{WEBSITES}/shop", {"doNotTrack": "drop", "neverStoreQuery": ["token"]}

    service.ask("PATCH", path, {"privacy": changes}, key="acme-admin")
    changed = service.ask("PATCH", path, {"privacy": {"maskTexts": False}}, key="acme-admin")

    assert changed.json["data"]["privacy"] == PRIVACY | changes | {"maskTexts": False}
    for privacy, problem in (
        ({"consent": "yes"}, "'privacy.consent' has a value that is not allowed: 'yes'"),
        ({"neverStoreQuery": ["a=b"]}, "'privacy.neverStoreQuery' has 'a=b'; a name has 1 to 128"),
    ):
        refused = service.ask("PATCH", path, {"privacy": privacy}, key="acme-admin")
        assert (refused.status, problem in refused.json["error"]) == (400, True), refused.json


def test_days_to_keep_are_changed_as_a_whole(service: InProcessService) -> None:
    path = f"{WEBSITES}/shop"

    days = {"all": 400, "events": 90}
    changed = service.ask("PATCH", path, {"keepDays": days}, key="acme-admin")
    replaced = service.ask("PATCH", path, {"keepDays": {"vitals": 7}}, key="acme-admin")

    assert changed.json["data"]["keepDays"] == days
    assert replaced.json["data"]["keepDays"] == {"vitals": 7}
    newest = service.ask("GET", "/v1/audit", key="acme-admin", record_id="shop").json["data"][0]
    assert (newest["before"], newest["after"]) == ({"keepDays": days}, {"keepDays": {"vitals": 7}})


@pytest.mark.parametrize(
    ("days", "message"),
    [
        ({"sessions": 9}, "'keepDays' has 'sessions'; tables are all, events, vitals, errors, "),
        ({"all": 0}, "'keepDays' of 'all' must be 1 to 36,500 days"),
        ({"events": 6}, "'keepDays' of 'events' is 6; the operator's minimum is 7"),
        ({"clicks": 401}, "'keepDays' of 'clicks' is 401; the operator's maximum is 400"),
    ],
)
def test_days_to_keep_are_checked_by_table(
    bounded: InProcessService, days: dict[str, int], message: str
) -> None:
    for path in (f"{WEBSITES}/shop", "/v1/organization"):
        reply = bounded.ask("PATCH", path, {"keepDays": days}, key="acme-admin")

        assert (reply.status, reply.json["error"].startswith(message)) == (400, True), reply.json


@pytest.fixture
def bounded(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path, min_keep_days=7, max_keep_days=400)
