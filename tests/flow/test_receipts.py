"""The status of items: by receipt, by `?wait=stored` and by the debug endpoint."""

import http.client
import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.flow.tenant import Tenant, at_ms
from tests.http_client import Reply, call
from tests.installation import ROOT, eventually


def an_event(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "anonymousId": "anna", "timestamp": at_ms("10:00:00"), **more}


def waited(tenant: Tenant, items: object, route: str = "/track") -> Reply:
    """Send as a server does, and wait."""
    url = f"{tenant.stack.collect_url}{route}?website_id={tenant.website.id}&wait=stored"
    return call("POST", url, items, {"x-api-key": tenant.key})


def looked_up(tenant: Tenant, receipt: str) -> Any:
    url = f"{tenant.stack.query_url}/v1/receipts/{receipt}"
    reply = call("GET", url, headers={"x-api-key": tenant.key})
    assert reply.status == 200, reply.body
    return reply.json["data"]


def test_a_receipt_tells_when_the_items_are_stored(tenant: Tenant) -> None:
    reply = tenant.send([an_event("a"), {"nam": "b"}, an_event("c")])

    receipt = reply.json["receipt"]
    assert {item["state"] for item in looked_up(tenant, receipt)["items"]} <= {"pending", "stored"}
    eventually(lambda: looked_up(tenant, receipt)["counts"]["stored"] == 2)
    assert looked_up(tenant, receipt)["items"] == [
        {"index": 0, "state": "stored"},
        {"index": 2, "state": "stored"},
    ]


def test_what_was_waited_for_can_be_asked_for_at_once(tenant: Tenant) -> None:
    for number in (1, 2, 3):
        reply = waited(tenant, [an_event(f"e{number}")])

        assert (reply.status, reply.json["stored"]) == (200, True)
        assert tenant.rows("summary")[0]["total_events"] == number


def test_a_receipt_tells_duplicates(tenant: Tenant) -> None:
    waited(tenant, [an_event("a", eventId="1")])

    reply = waited(tenant, [an_event("b", eventId="2"), an_event("a", eventId="1")])

    states = [item["state"] for item in looked_up(tenant, reply.json["receipt"])["items"]]
    assert states == ["stored", "duplicate"]
    assert tenant.grouped_counts("events", "name") == [("a", 1), ("b", 1)]


def test_what_privacy_leaves_out_is_counted_and_not_stored(tenant: Tenant) -> None:
    website = f"{tenant.stack.query_url}/v1/websites/{tenant.website.id}"
    privacy = {"doNotTrack": "drop", "neverStoreProperties": ["email"]}
    changed = call("PATCH", website, {"privacy": privacy}, {"x-api-key": tenant.key})
    assert changed.status == 200, changed.body
    collect = f"{tenant.stack.collect_url}/track?website_id={tenant.website.id}"

    def dropped() -> bool:
        reply = call("POST", collect, [an_event("unseen")], {"dnt": "1"})
        return bool(looked_up(tenant, reply.json["receipt"])["counts"]["dropped"])

    eventually(dropped)
    properties = {"email": "anna@example.com", "plan": "pro"}
    waited(tenant, [an_event("a", path="/users/anna@example.com", properties=properties)])
    today = str(datetime.now(UTC).date())

    seen = [{"field": "name", "operator": "eq", "value": "a"}]
    columns = ("path", "properties.email", "properties.plan")
    assert tenant.grouped_counts("events", *columns, filters=seen) == [
        ("/users/[email]", None, "pro", 1)
    ]
    reasons = tenant.grouped_counts("ledger", "drop_reason", startDate=today, endDate=today)
    assert "do_not_track" in {reason for reason, _ in reasons}


@pytest.mark.parametrize("route", ["/vitals", "/errors"])
def test_every_kind_can_be_waited_for(tenant: Tenant, route: str) -> None:
    item = {"path": "/", "metricName": "LCP", "metricValue": 1, "message": "m"}

    reply = waited(tenant, [item], route)

    assert (reply.status, reply.json["stored"]) == (200, True)
    assert looked_up(tenant, reply.json["receipt"])["counts"]["stored"] == 1


def test_who_installs_a_tracker_sees_it_work(tenant: Tenant) -> None:
    tenant.send([an_event("first")])
    parts = urlsplit(tenant.stack.collect_url)
    following = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    target = f"/debug?website_id={tenant.website.id}&follow=1"
    following.request("GET", target, headers={"x-api-key": tenant.key})
    stream = following.getresponse()

    # what asked whether the new website is known yet was refused, for it held no item
    assert until(stream, "item")["item"] == an_event("first")
    tenant.send([{"nam": "second"}])
    assert until(stream, "code")["message"] == "'name' is required"
    following.close()


def until(stream: http.client.HTTPResponse, member: str) -> Any:
    """The next line that has this member."""
    return next(line for line in map(json.loads, stream) if member in line)


def test_the_command_line_shows_items_and_what_became_of_them(tenant: Tenant) -> None:
    waited(tenant, [an_event("once", eventId="e1"), an_event("again", eventId="e1")])
    crawled = tenant.send([an_event("crawled")], agent="Mozilla/5.0 (compatible; Googlebot/2.1)")
    eventually(lambda: looked_up(tenant, crawled.json["receipt"])["counts"]["stored"] == 1)

    shown = subprocess.run(
        [sys.executable, "-m", "deploy.cli", "debug", tenant.website.id, "--once"],
        cwd=ROOT, env={**tenant.stack.environment, "TIDEMARK_KEY": tenant.key},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert shown.returncode == 0, shown.stderr
    accepted = [line for line in shown.stdout.splitlines() if "custom_event" in line]
    outcomes = {line.split("custom_event: ")[1].split()[0]: line.split()[1] for line in accepted}
    assert outcomes == {"once": "stored", "again": "duplicate", "crawled": "bot"}
    assert accepted[-1].endswith("custom_event: crawled  (search: Googlebot)")
