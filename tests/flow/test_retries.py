"""Retries, late events and anonymous events: what counts once, and for which visitor."""

import signal
from datetime import timedelta
from typing import Any

from tests.flow.tenant import CHROME_USER_AGENT, DAY, IPHONE_USER_AGENT, Tenant, at_ms
from tests.http_client import Reply, call
from tests.installation import eventually


def stored(tenant: Tenant, items: object, **headers: str) -> Reply:
    """Send as a server does, and wait until it is in the tables."""
    return settled(tenant, items, {"x-api-key": tenant.key, **headers})


def settled(tenant: Tenant, items: object, headers: dict[str, str]) -> Reply:
    """Sent, and read by a worker; the one before may be long in dying."""
    url = f"{tenant.stack.collect_url}/track?website_id={tenant.website.id}&wait=stored"
    reply = call("POST", url, items, headers, seconds=60)
    assert reply.status in (200, 202), reply.body
    eventually(lambda: "pending" not in states(tenant, reply), seconds=60)
    return reply


def states(tenant: Tenant, reply: Reply) -> dict[str, int]:
    """How many items of a request became what."""
    url = f"{tenant.stack.query_url}/v1/receipts/{reply.json['receipt']}"
    counts = call("GET", url, headers={"x-api-key": tenant.key}).json["data"]["counts"]
    return {state: count for state, count in counts.items() if count}


def events(tenant: Tenant) -> list[tuple[Any, ...]]:
    return tenant.grouped_counts("events", "name")


def kill_worker(tenant: Tenant) -> None:
    killed = tenant.stack.signal("worker-1", signal.SIGKILL)
    eventually(lambda: tenant.stack.pids().get("worker-1", killed) != killed)


def view(clock: str, **more: Any) -> dict[str, Any]:
    return {"name": "screen_view", "path": "/", "timestamp": at_ms(clock), **more}


def browse(tenant: Tenant, *items: dict[str, Any], agent: str = CHROME_USER_AGENT) -> None:
    """Page views of a visitor without any id, one request each."""
    for item in items:
        settled(tenant, item, {"user-agent": agent})


def test_the_next_worker_knows_what_the_last_one_stored(tenant: Tenant) -> None:
    items = [
        {"name": who, "anonymousId": who, "eventId": f"e-{who}", "timestamp": at_ms("10:00:00")}
        for who in ("ann", "ben", "cleo")
    ]
    stored(tenant, items)
    stored(tenant, items)
    browse(tenant, view("10:00:00"))
    kill_worker(tenant)

    again = stored(tenant, [items[2], {"name": "new", "timestamp": at_ms("10:00:00")}, items[0]])
    browse(tenant, view("10:20:00"))

    assert states(tenant, again) == {"stored": 1, "duplicate": 2}
    assert events(tenant) == [("ann", 1), ("ben", 1), ("cleo", 1), ("new", 1), ("screen_view", 2)]
    assert tenant.grouped_counts("sessions", "duration") == [(1200, 1)]


def test_a_request_that_is_sent_again_counts_once(tenant: Tenant) -> None:
    items = [{"name": name, "timestamp": at_ms("10:00:00")} for name in "ab"]

    first = stored(tenant, items, **{"idempotency-key": "order-17"})
    again = stored(tenant, items, **{"idempotency-key": "order-17"})
    other = stored(tenant, items, **{"idempotency-key": "order-18"})

    found = [states(tenant, reply) for reply in (first, again, other)]
    assert found == [{"stored": 2}, {"duplicate": 2}, {"stored": 2}]
    assert events(tenant) == [("a", 2), ("b", 2)]


def test_visitors_and_sessions_are_told_without_any_id(tenant: Tenant) -> None:
    browse(tenant, view("10:00:00"), view("10:20:00"), view("11:00:00"))
    browse(tenant, view("10:05:00"), agent=IPHONE_USER_AGENT)

    summary = tenant.rows("summary")[0]

    assert (summary["pageviews"], summary["unique_visitors"], summary["sessions"]) == (4, 2, 3)
    derived = tenant.grouped_counts("events", "visitor_made", "session_made")
    assert derived == [(True, True, 4)]
    assert sorted(row[0] for row in tenant.grouped_counts("sessions", "duration")) == [0, 1200]


def test_what_comes_late_corrects_its_day_and_its_session(tenant: Tenant) -> None:
    ann = {"anonymousId": "ann", "sessionId": "s1"}
    stored(tenant, [view("10:00:00", **ann), view("10:01:00", **ann)])
    day_after = str(DAY + timedelta(days=1))
    assert tenant.rows("summary")[0]["median_session_duration"] == 60.0

    stored(tenant, [view("10:05:00", **ann), view("09:58:00", **ann)])

    summary = tenant.rows("summary")[0]
    assert (summary["pageviews"], summary["sessions"]) == (4, 1)
    assert summary["median_session_duration"] == 420.0
    later = tenant.rows("summary", startDate=day_after, endDate=day_after)[0]
    assert later["pageviews"] == 0
