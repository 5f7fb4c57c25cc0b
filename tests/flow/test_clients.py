"""What a public client sends, as it was recorded, works unchanged; what it sent is stored whole.

`tests/clients` holds the requests byte for byte, without the host and the made-up key.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from schemas.registry import Store
from tests.calling import call
from tests.flow.tenant import Tenant
from tests.running import Stack, eventually

CLIENTS = Path(__file__).parents[1] / "clients"
SDK = json.loads((CLIENTS / "node-sdk.json").read_text())["requests"]
PREFLIGHTS = json.loads((CLIENTS / "preflights.json").read_text())["requests"]
TRACKED = [request for request in SDK if request["path"] == "/track"]


@pytest.fixture(scope="module")
def site_1(stack: Stack) -> Tenant:
    """A tenant with the two websites that the recording names."""
    tenant = Tenant.made(stack)
    store = Store(stack.settings.registry_url)
    sites = [replace(tenant.website, id=website_id) for website_id in ("site_1", "site_2")]
    for site in sites:
        store.create(site)
    store.close()
    eventually(lambda: replace(tenant, website=sites[1]).is_known())
    return replace(tenant, website=sites[0])


def sent(tenant: Tenant, request: dict[str, Any]) -> tuple[int, Any]:
    headers = {**request["headers"], "authorization": f"Bearer {tenant.key}"}
    url = tenant.stack.collect_url + request["path"]
    reply = call(request["method"], url, request["body"].encode(), headers)
    return reply.status, reply.json


def test_the_node_sdk_is_answered_as_it_expects_and_stored_whole(site_1: Tenant) -> None:
    answers = [sent(site_1, request) for request in TRACKED]

    assert answers == [(200, request["answer"]) for request in TRACKED]
    posted = [item for request in TRACKED for item in items(request["body"])]
    ours = [item for item in posted if item.get("websiteId") == "site_1"]
    eventually(lambda: len(stored(site_1)) == len(ours))
    assert stored(site_1) == sorted(expected(item) for item in ours)


def items(body: str) -> list[dict[str, Any]]:
    parsed = json.loads(body)
    return parsed if isinstance(parsed, list) else [parsed]


def expected(item: dict[str, Any]) -> tuple[str, ...]:
    named = (item.get(name) for name in ("namespace", "source", "anonymousId", "sessionId"))
    return (item["name"], *(str(value) for value in named))


def stored(tenant: Tenant) -> list[tuple[str, ...]]:
    """The stored events of a website, in the shape of `expected`, each as often as it is there."""
    today = datetime.now(UTC).date()
    span = {"startDate": str(today - timedelta(days=8)), "endDate": str(today + timedelta(days=1))}
    columns = ("name", "namespace", "source", "anonymous_id", "session_id")
    found = tenant.counted("events", *columns, **span)
    return sorted(tuple(str(v) for v in row[:-1]) for row in found for _ in range(row[-1]))


@pytest.mark.parametrize("asking", PREFLIGHTS, ids=range(len(PREFLIGHTS)))
def test_a_recorded_preflight_lets_the_browser_go_on(stack: Stack, asking: dict[str, Any]) -> None:
    query = "&".join(f"{name}={value}" for name, value in asking["query"].items())

    reply = call("OPTIONS", f"{stack.collect_url}{asking['path']}?{query}", None, asking["headers"])

    asked = asking["headers"]["access-control-request-headers"]
    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == asking["headers"]["origin"]
    assert reply.headers["access-control-allow-credentials"] == "true"
    assert set(asked.split(",")) <= set(reply.headers["access-control-allow-headers"].split(","))
    assert "POST" in reply.headers["access-control-allow-methods"]
