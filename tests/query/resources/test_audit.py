"""The audit trail over HTTP: changes by keys and the command line, of one tenant."""

from typing import Any

import pytest

from deploy.cli import main
from schemas.registry import KeyScope, parse_key
from schemas.registry.validation import new_key
from tests.query.query_service import NOW, InProcessService

AUDIT = "/v1/audit"
DAY_MS = 86_400_000
WHEN = "2026-11-30T00:53:20.000Z"


def entries(service: InProcessService, key: str = "acme-admin", **query: str) -> Any:
    reply = service.ask("GET", AUDIT, key=key, **query)
    assert reply.status == 200, reply.json
    return reply.json["data"]


def actor(service: InProcessService, key: str = "acme-admin") -> str:
    parts = parse_key(service.keys[key])
    assert parts is not None
    return f"key:{parts[0]}"


def test_a_change_over_http_names_key_fields_and_values(service: InProcessService) -> None:
    changes = {"allowedOrigins": ["https://a.example"], "timezone": "Europe/Berlin"}
    service.ask("PATCH", "/v1/websites/shop", changes, key="acme-admin")

    entry = entries(service, limit="1")[0]

    assert {**entry, "number": 0, "at": WHEN} == {
        "number": 0,
        "at": WHEN,
        "actor": actor(service),
        "action": "update",
        "kind": "website",
        "recordId": "shop",
        "record": {"domain": "shop.example"},
        "websiteId": "shop",
        "fields": ["allowedOrigins", "timezone"],
        "before": {"allowedOrigins": [], "timezone": "UTC"},
        "after": changes,
    }


def test_a_key_is_created_rotated_and_revoked_without_its_secret(
    service: InProcessService,
) -> None:
    body = {"scopes": ["read:data"], "expiresAt": "2027-01-01T00:00:00Z"}
    key = service.ask("POST", "/v1/keys", body, key="acme-admin").json["data"]
    rotated = service.ask("POST", f"/v1/keys/{key['id']}/rotate", {}, key="acme-admin")
    service.ask("POST", f"/v1/keys/{key['id']}/revoke", key="acme-admin")

    reply = service.ask("GET", AUDIT, key="acme-admin", record_id=key["id"])
    revoked, ended, created = reply.json["data"]

    assert created["after"] == {"scopes": ["read:data"], "expiresAt": "2027-01-01T00:00:00.000Z"}
    assert (ended["before"]["expiresAt"], ended["after"]["expiresAt"]) == (
        "2027-01-01T00:00:00.000Z",
        "2026-12-01T00:53:20.000Z",
    )
    assert (revoked["before"], revoked["after"]) == ({"revokedAt": None}, {"revokedAt": WHEN})
    everything = service.ask("GET", AUDIT, key="acme-admin").body
    for text in (key["key"], rotated.json["data"]["key"]):
        assert text.rpartition("_")[2].encode() not in everything
    assert b"ecretHash" not in everything


def test_the_command_line_is_an_actor_without_its_user(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(service.data))
    main(("websites", "update", "shop", "--name", "Shop"))

    entry = entries(service, limit="1")[0]

    assert (entry["actor"], entry["after"]) == ("cli", {"name": "Shop"})
    main(("audit", "--record", "shop", "--limit", "1", "--json"))


def test_pages_are_read_one_after_another(service: InProcessService) -> None:
    for number in range(5):
        service.ask("PATCH", "/v1/websites/shop", {"name": f"n{number}"}, key="acme-admin")

    def page(**query: str) -> Any:
        query |= {"limit": "2", "record_id": "shop"}
        return service.ask("GET", AUDIT, key="acme-admin", **query).json

    names: list[str | None] = []
    before: dict[str, str] = {}
    for _ in range(3):
        found = page(**before)
        names += [entry["after"].get("name") for entry in found["data"]]
        before = {"before": str(found["meta"]["next"])}

    assert names == ["n4", "n3", "n2", "n1", "n0", None]
    assert found["meta"] == {"limit": 2, "next": None}


def test_goals_links_and_imports_are_in_it(service: InProcessService) -> None:
    goal = {"name": "Buy", "event": "purchase"}
    service.ask("POST", "/v1/goals", goal, key="acme-admin", website_id="shop")
    link = {"name": "Spring", "targetUrl": "https://shop.example/"}
    service.ask("POST", "/v1/links", link, key="acme-admin")
    service.ask("POST", "/v1/imports", {"websiteId": "shop", "name": "a"}, key="acme-admin")

    found = entries(service, limit="3")

    assert [(entry["kind"], entry["websiteId"]) for entry in found] == [
        ("import", "shop"),
        ("link", None),
        ("goal", "shop"),
    ]
    assert found[2]["after"] == {**goal, "websiteId": "shop"}
    assert [entry["kind"] for entry in entries(service, kind="link", limit="1")] == ["link"]


def test_no_tenant_sees_another_ones_changes(service: InProcessService) -> None:
    service.ask("PATCH", "/v1/websites/shop", {"name": "Shop"}, key="acme-admin")
    for website in ("shop", "rival"):
        owner = "acme" if website == "shop" else "globex"
        key, text = new_key(owner, (KeyScope.ADMIN,), NOW, website)
        service.store.create(key)
        service.keys = {**service.keys, website: text}
    whole, text = new_key("globex", (KeyScope.ADMIN,), NOW)
    service.store.create(whole)
    service.keys = {**service.keys, "globex-admin": text}
    service.follower.refresh()

    theirs = entries(service, "globex-admin")
    of_shop = entries(service, "shop")

    assert {entry["recordId"] for entry in theirs} & {"shop", "acme", "blog", "go"} == set()
    assert {entry["websiteId"] for entry in of_shop} == {"shop"}
    assert {"shop"} < {entry["recordId"] for entry in of_shop}
    assert entries(service, "globex-admin", website_id="shop") == []
    assert entries(service, "globex-admin", record_id="shop") == []
    for website in ("blog", "rival", "nowhere"):
        assert service.ask("GET", AUDIT, key="shop", website_id=website).status == 403


def test_reading_it_needs_admin(service: InProcessService) -> None:
    assert service.ask("GET", AUDIT, key="acme").status == 403
    for name, value in (("limit", "0"), ("before", "x"), ("page", "2")):
        reply = service.ask("GET", AUDIT, key="acme-admin", **{name: value})
        assert (reply.status, f"'{name}'" in reply.json["error"]) == (400, True)


def test_a_shared_dashboard_is_in_it_without_password_and_secret(
    service: InProcessService,
) -> None:
    body = {"name": "For the agency", "password": "correct horse"}
    share = service.ask("POST", "/v1/shares", body, key="acme-admin", website_id="shop")
    assert share.status == 201, share.json
    record = share.json["data"]
    changes = {"password": "battery staple"}
    service.ask("PATCH", f"/v1/shares/{record['id']}", changes, key="acme-admin")
    service.ask("DELETE", f"/v1/shares/{record['id']}", key="acme-admin")

    found = entries(service, record_id=record["id"])

    assert found[-1]["after"] == {"websiteId": "shop", "name": "For the agency"}
    assert {entry["action"] for entry in found} >= {"create", "delete"}
    values = [value for entry in found for value in (entry["before"], entry["after"]) if value]
    assert not any({"password", "secretHash"} & value.keys() for value in values)


def test_entries_say_what_the_record_is_called(service: InProcessService) -> None:
    link = {"name": "Spring", "targetUrl": "https://shop.example/", "slug": "spring"}
    made = service.ask("POST", "/v1/links", link, key="acme-admin").json["data"]
    service.ask("PATCH", f"/v1/links/{made['id']}", {"name": "Summer"}, key="acme-admin")
    now = entries(service, record_id=made["id"])
    service.ask("DELETE", f"/v1/links/{made['id']}", key="acme-admin")
    then = entries(service, record_id=made["id"])

    assert [entry["record"] for entry in now + then] == [{**link, "name": "Summer"}] * 5


def test_entries_are_filtered_by_kind_and_actor(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.ask("PATCH", "/v1/websites/shop", {"name": "Shop"}, key="acme-admin")
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(service.data))
    main(("websites", "update", "blog", "--name", "Blog"))
    ours = actor(service)

    by_key, by_any_key = (entries(service, actor=each) for each in (ours, "key"))
    by_cli = entries(service, actor="cli")
    goals = entries(service, kind="goal")

    assert {entry["actor"] for entry in by_key} == {ours}
    assert [entry["record"]["name"] for entry in by_any_key[:1]] == ["Shop"]
    assert {entry["actor"] for entry in by_cli} == {"cli"}
    assert by_cli[0]["record"]["name"] == "Blog"
    assert {entry["kind"] for entry in goals} <= {"goal"}
    for name, value, rule in (
        ("kind", "cookie", "use one of organization, account, website, link, member, key"),
        (
            "actor",
            "cli:ann",
            "use 'person:' with an e-mail address, 'key:' with the id of",
        ),
    ):
        reply = service.ask("GET", AUDIT, key="acme-admin", **{name: value})
        assert (reply.status, rule in reply.json["error"]) == (400, True), reply.json
