"""Set-up over HTTP on the running services: from a new website to its first event."""

import re
from typing import Any

import pytest

from schemas.registry import RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.flow.tenant import CHROME_USER_AGENT, Tenant
from tests.http_client import Reply, call
from tests.installation import Installation, eventually

LIMIT_SECONDS = 60.0


class Admin:
    """Requests with a new `admin` key of a tenant."""

    def __init__(self, tenant: Tenant) -> None:
        self.stack = tenant.stack
        key, self.key = validation.new_key(tenant.organization.id, ["admin"], now_ms())
        store = RegistryStore(tenant.stack.settings.registry_url)
        store.create(key)
        store.close()

    def ask(self, method: str, target: str, body: object = None) -> Any:
        """The data of a successful response."""
        reply = call(method, self.stack.query_url + target, body, {"x-api-key": self.key})
        assert reply.status in (200, 201), reply.body
        return reply.json["data"]


@pytest.fixture(scope="module")
def admin(stack: Installation) -> Admin:
    return Admin(Tenant.create(stack))


@pytest.fixture(scope="module")
def website(admin: Admin) -> Any:
    return admin.ask("POST", "/v1/websites", {"domain": "new.example"})


def send(admin: Admin, website: Any, event_id: str) -> Reply:
    """One event of a browser, without a key."""
    url = f"{admin.stack.collect_url}/track?website_id={website['id']}"
    event = {"name": "hello", "eventId": event_id, "anonymousId": "a", "sessionId": "s"}
    return call("POST", url, event, {"user-agent": CHROME_USER_AGENT})


def test_a_new_website_receives_its_first_event(admin: Admin, website: Any) -> None:
    path = f"/v1/websites/{website['id']}"
    snippet = admin.ask("GET", f"{path}/snippet")
    (source,) = re.findall(r'src="([^"]+)"', snippet["script"])
    before = admin.ask("GET", f"{path}/status")

    assert snippet["collectUrl"] == admin.stack.collect_url
    assert call("GET", source).status == 200
    assert (before["received"], before["lastEventAt"]) == (False, None)
    assert send(admin, website, "first").status == 200

    status = eventually(
        lambda: (found := admin.ask("GET", f"{path}/status"))["received"] and found,
        LIMIT_SECONDS,
    )
    assert (status["events"], status["botEvents"]) == (1, 0)
    assert status["lagSeconds"] is not None


def test_a_duplicate_is_listed_in_the_quarantine(admin: Admin, website: Any) -> None:
    for _ in range(3):
        assert send(admin, website, "again").status == 200

    target = f"/v1/quarantine?website_id={website['id']}"
    (reason,) = eventually(
        lambda: [one for one in admin.ask("GET", target) if one["items"] == 2], LIMIT_SECONDS
    )

    assert (reason["stage"], reason["table"]) == ("duplicate", "events")


def test_what_a_collector_counted_is_used_of_the_limit(admin: Admin, website: Any) -> None:
    assert send(admin, website, "counted").status == 200

    target = f"/v1/limits?website_id={website['id']}"

    def used() -> int:
        entries = admin.ask("GET", target)
        (own,) = (entry for entry in entries if entry["websiteId"] == website["id"])
        count: int = own["items"]["used"]
        return count

    assert eventually(used, LIMIT_SECONDS) >= 1


def test_a_rotated_key_ends_at_the_collector(admin: Admin, website: Any) -> None:
    body = {"scopes": ["track:events"], "websiteId": website["id"]}
    old = admin.ask("POST", "/v1/keys", body)

    def status(key: str) -> int:
        return call(
            "POST", f"{admin.stack.collect_url}/track", {"name": "by key"}, {"x-api-key": key}
        ).status

    eventually(lambda: status(old["key"]) == 200, LIMIT_SECONDS)
    new = admin.ask("POST", f"/v1/keys/{old['id']}/rotate", {"overlapHours": 0})

    eventually(lambda: status(old["key"]) == 401, LIMIT_SECONDS)
    eventually(lambda: status(new["key"]) == 200, LIMIT_SECONDS)
