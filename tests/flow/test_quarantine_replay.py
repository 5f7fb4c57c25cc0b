"""An item that a worker could not store is repaired and sent again: stored once, as of then."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from schemas.envelope import Envelope, encode_chunk, encode_envelope
from schemas.runtime.clock import format_instant, now_ms
from tests.flow.tenant import CHROME_USER_AGENT, Tenant
from tests.http_client import call
from tests.installation import eventually

RECEIVED_MS = now_ms() // 1000 * 1000 - 2 * 3_600_000
"""Two hours ago."""
COUNTS = ("received", "stored", "duplicates", "quarantined", "dropped")
REPAIRS = ("--set", "name = text", "--set", "properties.total = number")


def send_as_another_collector(tenant: Tenant, *items: object) -> None:
    """Items that a collector of another version accepted."""
    envelope = Envelope(
        tenant.website.id,
        tenant.organization.id,
        RECEIVED_MS,
        len(items),
        msgspec.json.encode(items),
        user_agent=CHROME_USER_AGENT,
    )
    settings = tenant.stack.settings

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=settings.brokers) as producer:
            message = encode_chunk([encode_envelope(envelope)])
            await producer.send_and_wait(settings.topic("events"), message, partition=0)

    asyncio.run(send())


def ask(tenant: Tenant, language: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    url = f"{tenant.stack.query_url}/v1/query/{language}?website_id={tenant.website.id}"
    headers = {"x-api-key": tenant.key, "content-type": "application/json"}
    reply = call("POST", url, {**body, "preset": "last_7d"}, headers)
    assert reply.status == 200, reply.json
    rows: list[dict[str, Any]] = reply.json["data"]
    return rows


def custom(tenant: Tenant, table: str, *groups: str) -> list[dict[str, Any]]:
    count = {"field": "*", "aggregate": "count", "alias": "n"}
    return ask(tenant, "custom", {"query": {"table": table, "selects": [count], "groupBy": groups}})


def counts(tenant: Tenant) -> tuple[int, ...]:
    [row] = ask(tenant, "metrics", {"metrics": COUNTS})
    return tuple(row[name] for name in COUNTS)


def replay(tenant: Tenant, *arguments: str) -> list[dict[str, Any]]:
    """Of the items that have a number where a text should be."""
    condition = ("--where", "reason contains got `int`")
    items: list[dict[str, Any]] = tenant.stack.tidemark(
        *("quarantine", "replay", "--website", tenant.website.id, *REPAIRS, *condition), *arguments
    )
    return items


def request(tenant: Tenant, **fields: Any) -> dict[str, Any]:
    """A replay by HTTP, once it is over."""
    headers = {"x-api-key": tenant.key, "content-type": "application/json"}
    url = f"{tenant.stack.query_url}/v1/quarantine/replays"
    made = call("POST", url, {"websiteId": tenant.website.id, **fields}, headers)
    assert made.status == 201, made.json
    shown: dict[str, Any] = {}

    def is_over() -> bool:
        shown.update(call("GET", f"{url}/{made.json['data']['id']}", headers=headers).json["data"])
        return shown["state"] in ("planned", "sent")

    eventually(is_over)
    return shown


@pytest.mark.long
def test_a_replay_by_http_stores_each_item_once(tenant: Tenant) -> None:
    send_as_another_collector(tenant, {"name": 7, "path": "/a"}, {"name": None})
    eventually(lambda: counts(tenant) == (2, 0, 0, 2, 0))
    selected: dict[str, Any] = {"reasonContains": "got `int`", "set": ["name = text"]}

    tried = request(tenant, **selected, dryRun=True)
    sent = request(tenant, **selected)
    eventually(lambda: counts(tenant) == (2, 1, 0, 1, 0))
    again = request(tenant, **selected)

    report = {"items": 1, "sendable": 1, "withoutSender": 0, "remaining": 0}
    assert (tried["state"], tried["report"]) == ("planned", report)
    [sample] = tried["samples"]
    assert json.loads(sample["item"])["name"] == "7"
    assert (sent["state"], sent["report"]) == ("sent", report)
    assert again["report"] == {**report, "items": 0, "sendable": 0}
    stored = custom(tenant, "events", "name", "received_at", "browser_name")
    received_at = format_instant(RECEIVED_MS)
    assert stored == [{"name": "7", "received_at": received_at, "browser_name": "Chrome", "n": 1}]


@pytest.mark.long
def test_a_repaired_item_is_stored_once_with_its_time_of_receipt(tenant: Tenant) -> None:
    bad = {"name": 7, "properties": {"total": "12.5"}}
    send_as_another_collector(tenant, {"name": "sound"}, bad, {"name": None})
    eventually(lambda: counts(tenant) == (3, 1, 0, 2, 0))

    tried = replay(tenant, "--dry-run")
    [sent] = replay(tenant, "--yes")
    eventually(lambda: len(custom(tenant, "events", "name")) == 2)
    again = replay(tenant, "--yes")

    assert [one["outcome"] for one in tried] == ["would be sent"]
    event_id = tried[0]["item"]["eventId"]
    assert event_id.startswith("replay:events/")
    assert sent["item"] == {"name": "7", "properties": {"total": 12.5}, "eventId": event_id}
    assert again == []
    stored = custom(tenant, "events", "name", "received_at", "browser_name", "event_id")
    shared = {"received_at": format_instant(RECEIVED_MS), "browser_name": "Chrome", "n": 1}
    assert sorted(stored, key=lambda row: str(row["name"])) == [
        {"name": "7", "event_id": event_id, **shared},
        {"name": "sound", "event_id": None, **shared},
    ]
    assert counts(tenant) == (3, 2, 0, 1, 0)
    url = f"{tenant.stack.query_url}/v1/quarantine?website_id={tenant.website.id}"
    reasons = call("GET", url, headers={"x-api-key": tenant.key}).json["data"]
    assert [(one["items"], one["replayed"]) for one in reasons] == [(1, 0), (0, 1)]
    assert "the ledger counted" not in str(tenant.stack.tidemark("doctor"))


@pytest.mark.long
def test_what_the_collector_refused_is_shown_by_the_query_service(tenant: Tenant) -> None:
    track = f"{tenant.stack.collect_url}/track?website_id={tenant.website.id}"
    headers = {"content-type": "application/json"}
    for _ in range(2):
        assert call("POST", track, {"name": 7}, headers).status == 400

    url = f"{tenant.stack.query_url}/v1/quarantine/refused?website_id={tenant.website.id}"
    reply = call("GET", url, headers={"x-api-key": tenant.key})

    assert reply.status == 200, reply.json
    refused = {one["message"]: (one["path"], one["items"]) for one in reply.json["data"]}
    assert refused["'name' must be a string, not an integer"] == ("/track", 2)
