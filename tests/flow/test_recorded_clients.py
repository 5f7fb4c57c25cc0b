"""Recorded requests of public clients work unchanged and are stored completely.

`tests/clients` holds the requests byte for byte, without the host and the made-up key.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from schemas.kinds import CUSTOM_EVENT, VISITOR_IDENTITY, Kind
from schemas.registry import RegistryStore
from schemas.runtime.clock import format_instant
from tests.flow.tenant import Tenant
from tests.http_client import Reply, call
from tests.installation import Installation, eventually

CLIENTS = Path(__file__).parents[1] / "clients"
SDK = json.loads((CLIENTS / "node-sdk.json").read_text())["requests"]
PREFLIGHTS = json.loads((CLIENTS / "preflights.json").read_text())["requests"]
KINDS = {"/track": CUSTOM_EVENT, "/identify": VISITOR_IDENTITY}
SITES = ("site_1", "site_2")
MANY_SITES = None
"""What an item says that names no website, of a key that has several: the organization keeps it."""

KEPT = timedelta(days=7)
"""How old an event that is sent live may be; a request of older ones is moved to that age."""
ON_RECEIPT = "on receipt"
A_WEEK_BEFORE = "a week before"


@pytest.fixture(scope="module")
def sites(stack: Installation) -> Tenant:
    """A tenant with the two websites that the recording names."""
    tenant = Tenant.create(stack)
    store = RegistryStore(stack.settings.registry_url)
    websites = [replace(tenant.website, id=website_id) for website_id in SITES]
    for site in websites:
        store.create(site)
    store.close()
    eventually(lambda: all(replace(tenant, website=site).is_known() for site in websites))
    return tenant


def sent_items(tenant: Tenant, request: dict[str, Any]) -> Reply:
    headers = {**request["headers"], "authorization": f"Bearer {tenant.key}"}
    url = tenant.stack.collect_url + request["path"]
    return call(request["method"], url, request["body"].encode(), headers)


def items(requests: Iterable[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    """The items of the requests to a route."""
    bodies = [json.loads(request["body"]) for request in requests if request["path"] == path]
    return [item for body in bodies for item in (body if isinstance(body, list) else [body])]


def test_the_node_sdk_is_answered_as_it_expects_and_stored_whole(sites: Tenant) -> None:
    replies = [sent_items(sites, request) for request in SDK]

    for request, reply in zip(SDK, replies, strict=True):
        count = len(items([request], request["path"]))
        type_ = KINDS[request["path"]].name
        # the client's own check: `ok`, and this status
        assert (reply.status, reply.json["status"]) == (200, "success"), request["step"]
        assert (reply.json["type"], reply.json["count"]) == (type_, count)
    for path, kind in KINDS.items():
        sdk_items = items(SDK, path)
        for website_id in (*SITES, MANY_SITES):
            of_site = [item for item in sdk_items if item.get("websiteId") == website_id]
            subject = website_id or sites.organization.id
            found = stored(sites, kind, subject, len(of_site))
            assert in_order(map(decided, found)) == in_order(
                expected(kind, item) for item in of_site
            )


def stored(tenant: Tenant, kind: Kind, subject: str, count: int) -> list[dict[str, Any]]:
    """The rows, once there are so many."""

    def enough() -> tuple[list[dict[str, Any]], ...]:
        found = rows(tenant, kind, subject)
        return (found,) if len(found) >= count else ()

    return eventually(enough)[0]


def rows(tenant: Tenant, kind: Kind, subject: str) -> list[dict[str, Any]]:
    """All that is stored of a kind for a website, with every public column."""
    today = datetime.now(UTC).date()
    span = f"startDate={today - timedelta(days=8)}&endDate={today + timedelta(days=1)}"
    reply = call(
        "GET",
        f"{tenant.stack.query_url}/v1/export/{kind.table.name}?website_id={subject}&{span}"
        "&format=ndjson&include_bots=true",
        headers={"x-api-key": tenant.key},
    )
    assert reply.status == 200, reply.body
    lines = reply.body.decode().splitlines()
    return [json.loads(line) for line in lines]


FOUND = {
    *("received_at", "is_bot", "language", "channel"),
    *("visitor_made", "session_made", "trusted"),
}
"""Columns that the stream fills, whatever the item says."""


def decided(row: dict[str, Any]) -> dict[str, Any]:
    """All that the request decides, absent values left out."""
    there = {name: value for name, value in row.items() if value is not None}
    return {
        name: json.loads(value) if name in ("properties", "traits") else value
        for name, value in {**there, "ts": described_columns(row)}.items()
        if name not in FOUND and not name.startswith("referrer")
    }


def described_columns(row: dict[str, Any]) -> str:
    """The event time; in words when it depends on the time of receipt."""
    came = datetime.fromisoformat(row["received_at"])
    ts: str = row["ts"]
    at = datetime.fromisoformat(ts)
    if at == came:
        return ON_RECEIPT
    # Items of one request keep their intervals: only the oldest is exactly so old.
    return A_WEEK_BEFORE if timedelta() <= at - (came - KEPT) < timedelta(minutes=1) else ts


def expected(kind: Kind, item: dict[str, Any]) -> dict[str, Any]:
    """The row that an item becomes."""
    fields = dict(zip(kind.item.__struct_encode_fields__, kind.item.__struct_fields__, strict=True))
    fields_of_item = {fields[name]: value for name, value in item.items() if name in fields}
    stamp = fields_of_item.pop("timestamp", None)
    fields_of_item.pop("website_id", None)
    if stamp is None:
        return {**fields_of_item, "ts": ON_RECEIPT}
    old = datetime.fromtimestamp(stamp / 1000, UTC) < datetime.now(UTC) - KEPT
    return {**fields_of_item, "ts": A_WEEK_BEFORE if old else format_instant(stamp)}


def in_order(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.parametrize("asking", PREFLIGHTS, ids=range(len(PREFLIGHTS)))
def test_a_recorded_preflight_lets_the_browser_go_on(
    stack: Installation, asking: dict[str, Any]
) -> None:
    query = "&".join(f"{name}={value}" for name, value in asking["query"].items())

    reply = call("OPTIONS", f"{stack.collect_url}{asking['path']}?{query}", None, asking["headers"])

    request_headers = asking["headers"]["access-control-request-headers"]
    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == asking["headers"]["origin"]
    assert reply.headers["access-control-allow-credentials"] == "true"
    assert set(request_headers.split(",")) <= set(
        reply.headers["access-control-allow-headers"].split(",")
    )
    reading = "GET, HEAD, " if asking["path"] == "/" else ""  # the page that says what this is
    assert reply.headers["access-control-allow-methods"] == f"{reading}POST, OPTIONS"
