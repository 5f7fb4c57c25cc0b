"""Shared dashboards: what a link shows, that it cannot be widened, and when it ends."""

import json
from typing import Any

import pytest

from query.app import OPENAPI_SERVICE
from query.standard.query_types import FAMILIES
from query.standard.shared_queries import SHARED_TYPES
from schemas.runtime.clock import format_instant, now_ms
from tests.flow.tenant import DAY, Tenant, at_ms
from tests.http_client import Reply, call
from tests.installation import Installation, eventually

FIXED = {"field": "country", "operator": "eq", "value": "DE"}
PASSWORD = "correct horse"
ZONES = ("Europe/Berlin", "Europe/Berlin", "America/New_York")
OPEN = {"/v1/query", "/v1/query/metrics", "/v1/me", "/v1/shares/open"}
"""Paths that take the access of a share, or no key at all."""


@pytest.fixture(scope="module")
def tenant(stack: Installation) -> Tenant:
    tenant = Tenant.create(stack)
    items = [
        {
            "name": name,
            "path": f"https://shop.example/{number}",
            "anonymousId": f"v{number}",
            "sessionId": f"s{number}",
            "timezone": zone,
            "timestamp": at_ms("10:00:00") + number,
        }
        for number, zone in enumerate(ZONES)
        for name in ("screen_view", "signup")
    ]
    assert tenant.send(items).status == 200
    eventually(lambda: tenant.rows("summary")[0]["total_events"] == len(items), 60)
    return tenant


def manage(tenant: Tenant, method: str, path: str, body: object = None) -> Reply:
    url = f"{tenant.stack.query_url}{path}"
    return call(method, url, body, {"x-api-key": tenant.key, "content-type": "application/json"})


def new_share(tenant: Tenant, name: str, **members: Any) -> dict[str, Any]:
    """The response that creates a share; `link` is the text of its link."""
    body = {"name": name, "filters": [FIXED], **members}
    reply = manage(tenant, "POST", f"/v1/shares?website_id={tenant.website.id}", body)
    assert reply.status == 201, reply.body
    data: dict[str, Any] = reply.json["data"]
    return {**data, "link": data["path"].removeprefix("/s/")}


def open_share(tenant: Tenant, link: str, **members: Any) -> Reply:
    return call("POST", f"{tenant.stack.query_url}/v1/shares/open", {"link": link, **members}, {})


def opened(tenant: Tenant, name: str) -> str:
    """The access text of a new share."""
    access: str = open_share(tenant, new_share(tenant, name)["link"]).json["access"]
    return access


def asked(tenant: Tenant, access: str, path: str, body: object, method: str = "POST") -> Reply:
    headers = {"authorization": f"Bearer {access}", "content-type": "application/json"}
    return call(method, f"{tenant.stack.query_url}{path}", body, headers)


def query(tenant: Tenant, access: str, *parameters: object, **members: Any) -> Reply:
    body = {"parameters": parameters, "startDate": str(DAY), "endDate": str(DAY), **members}
    return asked(tenant, access, f"/v1/query?website_id={tenant.website.id}", body)


def test_every_shared_type_answers_as_with_the_fixed_filter(tenant: Tenant) -> None:
    access = opened(tenant, "types")
    known = {t.name for family in FAMILIES for t in family}
    aliases = {alias for family in FAMILIES for t in family for alias in t.aliases}
    assert known | aliases >= SHARED_TYPES
    for compare in (None, "previous_period"):
        for name in sorted(SHARED_TYPES):
            reply = query(tenant, access, name, compare=compare)
            by_key = tenant.ask(name, filters=[FIXED], compare=compare)
            assert reply.json["data"] == by_key.json["data"], name
    [summary] = query(tenant, access, "summary").json["data"][0]["data"]
    assert summary["unique_visitors"] == 2


def test_every_other_type_is_refused(tenant: Tenant) -> None:
    access = opened(tenant, "others")
    for name in {t.name for family in FAMILIES for t in family} - SHARED_TYPES:
        assert query(tenant, access, name).status == 403, name


@pytest.mark.parametrize(
    "members",
    [
        {"filters": [{"has_done": {"event": "signup"}}]},
        {"filters": [{"not": {"has_not_done": {"event": "signup", "within": "ever"}}}]},
        {"filters": [{"or": [{"field": "anonymous_id", "operator": "eq", "value": "v2"}]}]},
        {"filters": [{"field": "visitor.profile_id", "operator": "is_not_null"}]},
        {"filters": [{"field": "properties.plan", "operator": "is_not_null"}]},
        {"filters": [{"segment": "Everybody"}]},
        {"include_bots": True},
    ],
)
def test_what_could_look_past_the_filter_is_refused(
    tenant: Tenant, members: dict[str, Any]
) -> None:
    access = opened(tenant, json.dumps(members)[:200])
    refused = (400, 403)  # nothing of what is saved has a name here
    assert query(tenant, access, "summary", **members).status in refused
    if "filters" in members:
        assert query(tenant, access, {"name": "summary", **members}).status in refused


def test_own_filters_are_added_and_never_replace_the_fixed_one(tenant: Tenant) -> None:
    access = opened(tenant, "added")
    wider = [{"or": [{"field": "country", "operator": "is_not_null"}, FIXED]}]
    for members in ({"filters": wider}, {"filters": [{**FIXED, "value": "US"}]}):
        [row] = query(tenant, access, "summary", **members).json["data"][0]["data"]
        assert row["unique_visitors"] == (2 if members["filters"] is wider else 0)
    batch = asked(
        tenant,
        access,
        f"/v1/query?website_id={tenant.website.id}",
        [{"parameters": ["summary"], "startDate": str(DAY), "endDate": str(DAY)}] * 2,
    )
    counts = [r["data"][0]["data"][0]["unique_visitors"] for r in batch.json["results"]]
    assert counts == [2, 2]


def test_every_other_route_refuses_a_share(tenant: Tenant) -> None:
    access = opened(tenant, "routes")
    website = tenant.website.id
    for operation in OPENAPI_SERVICE.operations:
        needs_key = operation.security != ({},) and operation.security != ()
        if not needs_key or operation.path in OPEN:
            continue
        path = operation.path
        for name in ("{table}", "{receipt}"):
            path = path.replace(name, "events")
        path = "/".join("x" if part.startswith("{") else part for part in path.split("/"))
        reply = asked(tenant, access, f"{path}?website_id={website}", {}, operation.method)
        assert reply.status in (400, 401, 403), (operation.method, path, reply.status)
        assert "data" not in (reply.json or {}), path


def test_another_website_is_refused(tenant: Tenant, stack: Installation) -> None:
    access = opened(tenant, "elsewhere")
    other = Tenant.create(stack, domain="other.example")
    body = {"parameters": ["summary"], "startDate": str(DAY), "endDate": str(DAY)}
    both = f"{tenant.website.id},{other.website.id}"
    for ids in (other.website.id, both, tenant.organization.id):
        assert asked(tenant, access, f"/v1/query?website_id={ids}", body).status == 403
    assert asked(tenant, access, f"/v1/query?link_id={tenant.link.id}", body).status == 403


def test_a_password_is_needed_and_its_attempts_are_counted(tenant: Tenant) -> None:
    share = new_share(tenant, "locked", password=PASSWORD)
    assert share["password"] is True
    without = open_share(tenant, share["link"])
    assert (without.status, without.json["error"]) == (401, "This dashboard needs its password")
    access = open_share(tenant, share["link"], password=PASSWORD).json["access"]
    assert query(tenant, access, "summary").status == 200

    statuses = [open_share(tenant, share["link"], password=f"wrong {n}").status for n in range(12)]
    assert set(statuses) == {401, 429}
    assert open_share(tenant, share["link"], password=PASSWORD).status == 429


def test_a_new_password_ends_what_was_opened_with_the_old_one(tenant: Tenant) -> None:
    share = new_share(tenant, "changed")
    access = open_share(tenant, share["link"]).json["access"]
    changed = manage(tenant, "PATCH", f"/v1/shares/{share['id']}", {"password": PASSWORD})
    assert changed.json["data"]["password"] is True
    assert query(tenant, access, "summary").status == 401


def test_deleting_or_ending_a_share_ends_it_at_once(tenant: Tenant) -> None:
    gone, over = new_share(tenant, "gone"), new_share(tenant, "over")
    texts = [open_share(tenant, share["link"]).json["access"] for share in (gone, over)]
    assert manage(tenant, "DELETE", f"/v1/shares/{gone['id']}").status == 200
    past = {"expires": format_instant(now_ms())}
    assert manage(tenant, "PATCH", f"/v1/shares/{over['id']}", past).status == 200

    assert [query(tenant, text, "summary").status for text in texts] == [401, 401]
    assert [open_share(tenant, share["link"]).status for share in (gone, over)] == [404, 404]


def test_secrets_are_shown_once_and_stored_as_hashes(tenant: Tenant) -> None:
    share = new_share(tenant, "secret", password=PASSWORD)
    shown = manage(tenant, "GET", f"/v1/shares/{share['id']}").json["data"]
    assert not {"path", "secretHash"} & set(shown)
    secret = share["link"].rpartition(".")[2]
    registry = b"".join(path.read_bytes() for path in tenant.stack.data.glob("registry.db*"))
    assert secret.encode() not in registry
    assert PASSWORD.encode() not in registry


@pytest.mark.parametrize("change", [0, -1])
def test_a_forged_access_or_link_is_refused(tenant: Tenant, change: int) -> None:
    share = new_share(tenant, f"forged {change}")
    access = open_share(tenant, share["link"]).json["access"]
    swapped = list(access)
    swapped[len("tmshare_") if change == 0 else -1] = "0" if access[-1] != "0" else "1"
    assert query(tenant, "".join(swapped), "summary").status == 401
    assert open_share(tenant, share["link"][:-1] + "!").status == 404
    assert open_share(tenant, f"{share['link'][:-2]}zz").status == 404
