"""API keys over HTTP: the secret is shown once, and no key gives more than it has."""

from typing import Any

import pytest

from schemas.registry import Key, KeyScope, record_limits
from schemas.registry.validation import new_key
from tests.query.query_service import NOW, InProcessService

KEYS = "/v1/keys"
DAY_MS = 86_400_000
WHEN = "2026-11-30T00:53:20.000Z"
READ = {"name": "reports", "scopes": ["read:data"]}


def created(service: InProcessService, key: str = "acme-admin", **fields: object) -> Any:
    """A new key, with which the service is asked as `new`."""
    reply = service.ask("POST", KEYS, {**READ, **fields}, key=key)
    assert reply.status == 201, reply.json
    assert reply.headers["cache-control"] == "no-store"
    service.keys = {**service.keys, "new": reply.json["data"]["key"]}
    return reply.json["data"]


def asked(service: InProcessService, key: str = "new") -> int:
    return service.ask("GET", "/v1/websites", key=key).status


def registered(service: InProcessService, name: str, *scopes: str, website: str | None) -> None:
    """Register a key of acme."""
    key, text = new_key("acme", scopes, NOW, website)
    service.store.create(key)
    service.follower.refresh()
    service.keys = {**service.keys, name: text}


def test_a_created_key_works_at_once_and_its_secret_is_shown_once(
    service: InProcessService,
) -> None:
    key = created(service)

    text = key.pop("key")
    assert text.startswith(key["prefix"])
    assert key == {
        "id": key["id"],
        "prefix": f"tm_{key['id']}_",
        "organizationId": "acme",
        "websiteId": None,
        "personId": None,
        "name": "reports",
        "scopes": ["read:data"],
        "state": "active",
        "expiresAt": None,
        "revokedAt": None,
        "lastUsedAt": None,
        "createdAt": WHEN,
        "updatedAt": WHEN,
    }
    assert asked(service) == 200
    shown = service.ask("GET", f"{KEYS}/{key['id']}", key="acme-admin")
    listed = service.ask("GET", KEYS, key="acme-admin")
    assert shown.json == {"success": True, "data": key}
    assert key in listed.json["data"]
    secret = text.rpartition("_")[2].encode()
    stored = service.store.get(Key, key["id"]).secret_hash.encode()
    for reply in (shown, listed):
        assert secret not in reply.body
        assert stored not in reply.body


def test_a_rotated_key_works_until_the_overlap_ends(service: InProcessService) -> None:
    old = created(service, expiresAt="2027-01-01T00:00:00Z")
    path = f"{KEYS}/{old['id']}/rotate"
    service.keys = {**service.keys, "old": old["key"]}

    reply = service.ask("POST", path, {"overlapHours": 48}, key="acme-admin")
    new = reply.json["data"]
    service.keys = {**service.keys, "new": new["key"]}

    assert (reply.status, new["replaces"]) == (201, old["id"])
    for field in ("name", "scopes", "expiresAt"):
        assert new[field] == old[field]
    assert new["replacedEndsAt"] == "2026-12-02T00:53:20.000Z"
    assert service.store.get(Key, old["id"]).expires_at == NOW + 2 * DAY_MS
    assert (asked(service, "old"), asked(service, "new")) == (200, 200)

    at_once = service.ask("POST", path, {"overlapHours": 0}, key="acme-admin")
    assert at_once.json["data"]["replacedEndsAt"] == WHEN
    assert (asked(service, "old"), asked(service, "new")) == (401, 200)
    again = service.ask("POST", path, {}, key="acme-admin")
    assert (again.status, again.json["error"]) == (
        409,
        f"Key '{old['id']}' has expired or was revoked; create a new one",
    )


def test_a_rotated_key_has_an_end_of_its_own_when_it_is_given(service: InProcessService) -> None:
    end = "2027-06-01T00:00:00.000Z"
    old = created(service, expiresAt="2027-01-01T00:00:00Z")
    for given in (end, None):
        path = f"{KEYS}/{old['id']}/rotate"
        new = service.ask("POST", path, {"expiresAt": given}, key="acme-admin").json["data"]
        assert new["expiresAt"] == given


def test_a_revoked_key_ends_at_once_and_stays_listed(service: InProcessService) -> None:
    key = created(service)
    path = f"{KEYS}/{key['id']}"

    revoked = service.ask("POST", f"{path}/revoke", key="acme-admin")

    assert (revoked.json["data"]["state"], revoked.json["data"]["revokedAt"]) == ("revoked", WHEN)
    assert asked(service) == 401
    assert service.ask("POST", f"{path}/revoke", key="acme-admin").json == revoked.json
    assert service.ask("GET", path, key="acme-admin").json == revoked.json
    assert service.ask("DELETE", path, key="acme-admin").json == {"success": True}
    assert service.ask("GET", path, key="acme-admin").status == 404


def test_given_fields_change_and_others_stay(service: InProcessService) -> None:
    key = created(service, expiresAt=NOW + DAY_MS)
    path = f"{KEYS}/{key['id']}"
    key.pop("key")

    narrowed = service.ask("PATCH", path, {"scopes": ["track:events"]}, key="acme-admin")

    changed = key | {"scopes": ["track:events"]}
    assert narrowed.json["data"] == changed
    assert asked(service) == 403
    endless = service.ask("PATCH", path, {"expiresAt": None, "name": ""}, key="acme-admin")
    assert endless.json["data"] == changed | {"expiresAt": None, "name": ""}
    ended = service.ask("PATCH", path, {"expiresAt": NOW}, key="acme-admin")
    assert ended.json["data"]["state"] == "expired"
    assert asked(service) == 401


def test_an_admin_of_one_website_gives_no_more_than_that(service: InProcessService) -> None:
    registered(service, "local", KeyScope.ADMIN, website="shop")
    everywhere = created(service)

    own = created(service, key="local", scopes=["admin"])

    assert own["websiteId"] == "shop"
    listed = service.ask("GET", KEYS, key="local").json["data"]
    assert {key["websiteId"] for key in listed} == {"shop"}
    for website in (None, "blog", "rival", "nowhere"):
        reply = service.ask("POST", KEYS, {**READ, "websiteId": website}, key="local")
        assert reply.status == 403, reply.json
    path = f"{KEYS}/{everywhere['id']}"
    for method, target, body in (
        ("GET", path, None),
        ("PATCH", path, {"scopes": ["admin"]}),
        ("POST", f"{path}/rotate", {}),
        ("POST", f"{path}/revoke", None),
        ("DELETE", path, None),
    ):
        none = service.ask(method, target.replace(everywhere["id"], "none"), body, key="local")
        reply = service.ask(method, target, body, key="local")
        assert (reply.status, reply.json) == (404, none.json)


def test_only_admin_keys_manage_keys(service: InProcessService) -> None:
    others = tuple(scope for scope in KeyScope if scope is not KeyScope.ADMIN)
    registered(service, "manager", *others, website=None)

    for method, body in (("GET", None), ("POST", {"scopes": ["admin"]})):
        reply = service.ask(method, KEYS, body, key="manager")
        assert (reply.status, reply.json["error"]) == (403, "This key lacks the scope 'admin'")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": "a"}, "'scopes' is missing"),
        ({"scopes": []}, "'scopes' "),
        ({"scopes": ["root"]}, "'scopes[0]' "),
        ({**READ, "expiresAt": NOW}, "'expiresAt' must lie in the future"),
        ({**READ, "expiresAt": "soon"}, "'expiresAt' must be an ISO 8601 instant or null"),
        ({**READ, "name": "a\0"}, "'name' has a null character"),
        ({**READ, "secretHash": "0"}, "Unknown member 'secretHash'"),
    ],
)
def test_an_error_names_the_field_and_the_rule(
    service: InProcessService, body: object, message: str
) -> None:
    before = service.store.count(Key)

    reply = service.ask("POST", KEYS, body, key="acme-admin")

    assert (reply.status, message in reply.json["error"]) == (400, True), reply.json
    assert service.store.count(Key) == before


def test_an_organization_has_a_limit_of_keys(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limits, "MAX_RECORDS", {Key: 5})
    key = created(service)

    refused = service.ask("POST", KEYS, READ, key="acme-admin")
    rotated = service.ask("POST", f"{KEYS}/{key['id']}/rotate", {}, key="acme-admin")

    message = "The organization has 5 keys, its maximum; delete one first"
    assert (refused.status, refused.json["error"]) == (409, message)
    assert (rotated.status, rotated.json["error"]) == (409, message)
    assert service.store.get(Key, key["id"]).expires_at is None


def test_the_keys_of_one_website_are_listed(service: InProcessService) -> None:
    def names(**query: str) -> list[str]:
        listed = service.ask("GET", KEYS, key="acme-admin", **query).json["data"]
        return [key["name"] for key in listed]

    assert names(website_id="shop") == ["acme-shop"]
    assert set(names()) == {"acme", "acme-admin", "acme-track", "acme-shop"}
    assert service.ask("GET", KEYS, key="acme-admin", website_id="rival").status == 403
