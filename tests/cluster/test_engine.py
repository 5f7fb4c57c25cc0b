"""Large questions of a cluster are answered by Trino, with the rows that DuckDB has."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec import json, structs

from query.standard.query_types import QUERY_TYPES
from schemas.runtime.environment import to_environment
from tests.cluster.registration import register_tables
from tests.conformance.difference import difference
from tests.conformance.trino_server import bytes_read
from tests.flow.contract_requests import COUNT
from tests.flow.tenant import DAY, Tenant, at_ms
from tests.http_client import Reply, call, is_ready
from tests.installation import ROOT, Installation, eventually, free_port

EVENTS, BATCH, VISITORS = 24_000, 400, 900
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo")
SECONDS = 120.0
"""For one answer: two cores run some twenty processes."""

TYPES = (
    *("summary", "events_by_date", "top_pages", "entry_pages", "exit_pages", "country"),
    *("device_types", "channels", "custom_events", "sessions_by_device", "session_list"),
    *("retention", "outbound_links"),
)
CUSTOM: Mapping[str, Mapping[str, Any]] = {
    "events by path": {"selects": [COUNT], "groupBy": ["path"]},
    "distinct visitors by name": {
        "selects": [COUNT, {"field": "anonymous_id", "aggregate": "uniq", "alias": "visitors"}],
        "groupBy": ["name"],
    },
    "sums of a property": {
        "selects": [{"field": "properties.amount", "aggregate": "sum", "alias": "amount"}],
        "filters": [{"field": "properties.plan", "operator": "eq", "value": "pro"}],
        "groupBy": ["properties.plan"],
    },
}
METRICS = ("visitors", "page_views", "bounce_rate")


def an_event(number: int) -> dict[str, Any]:
    """The event with that number; its title does not compress well."""
    visitor = number * 7919 % VISITORS
    own = {"name": "purchase"} if number % 11 == 0 else {"name": "screen_view"}
    if number % 13 == 1:
        own = {"name": "outgoing_link", "href": f"https://docs-{number % 4}.example/start"}
    return {
        **own,
        "timezone": ZONES[visitor % len(ZONES)],
        "anonymousId": f"anon-{visitor}",
        "sessionId": f"sess-{visitor}-{number % 3}",
        "timestamp": at_ms("06:00:00") + number * 1_500,
        "path": f"https://shop.example/p/{number % 37}?utm_source=s{number % 5}",
        "referrer": "https://www.google.com/" if number % 4 else "",
        "title": secrets.token_hex(60),
        "properties": {"plan": "pro" if number % 2 else "free", "amount": number % 50},
    }


@pytest.fixture(scope="module")
def large(stack: Installation) -> Tenant:
    """A tenant with more events than a DuckDB question may read here, and one vital."""
    tenant = Tenant.create(stack)
    for first in range(0, EVENTS, BATCH):
        reply = tenant.send([an_event(number) for number in range(first, first + BATCH)])
        assert reply.status == 200, reply.body
    vital = {"metricName": "LCP", "metricValue": 1200, "timestamp": at_ms("10:00:00")}
    item = {**vital, "path": "https://shop.example/", "anonymousId": "anon-1", "sessionId": "s-1"}
    assert tenant.send([item], "/vitals").status == 200
    eventually(lambda: {"events", "vitals"} <= register_tables(stack), SECONDS)
    with_rows = {"query": {"table": "events", "selects": [COUNT]}}
    eventually(lambda: count(ask_custom(tenant, stack.query_url, with_rows)) == EVENTS, SECONDS)
    return tenant


@pytest.fixture(scope="module")
def duckdb_url(stack: Installation) -> Iterator[str]:
    """A query service over the same tables that knows no other engine than DuckDB."""
    port = free_port()
    settings = structs.replace(
        stack.settings, engine="duckdb", query_port=port, metrics_port=0, query_seconds=SECONDS
    )
    process = subprocess.Popen(
        (sys.executable, "-m", "query", "--name", "query-duckdb"),
        cwd=ROOT,
        env={**os.environ, **to_environment(settings)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: is_ready(url), SECONDS)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def ask(tenant: Tenant, url: str, path: str, body: Mapping[str, Any]) -> Reply:
    """One question about DAY, asked of the service at `url`."""
    target = f"{url}{path}?website_id={tenant.website.id}"
    days = {"startDate": str(DAY), "endDate": str(DAY)}
    return call("POST", target, {**days, **body}, {"x-api-key": tenant.key}, SECONDS)


def ask_custom(tenant: Tenant, url: str, body: Mapping[str, Any]) -> Reply:
    return ask(tenant, url, "/v1/query/custom", body)


def count(reply: Reply) -> int | None:
    rows = reply.json["data"] if reply.status == 200 else []
    return rows[0]["n"] if rows else None


def answers(
    tenant: Tenant, duckdb_url: str, path: str, body: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What DuckDB and the cluster answer to the same question."""
    found = [ask(tenant, url, path, body) for url in (duckdb_url, tenant.stack.query_url)]
    assert [reply.status for reply in found] == [200, 200], [reply.body for reply in found]
    return found[0].json, found[1].json


@pytest.mark.parametrize("name", TYPES)
def test_a_large_standard_question_has_the_same_rows_on_trino(
    large: Tenant, duckdb_url: str, name: str
) -> None:
    expected, found = answers(large, duckdb_url, "/v1/query", {"parameters": [name]})

    assert name in QUERY_TYPES
    (own,), (theirs,) = expected["data"], found["data"]
    assert (theirs["success"], theirs["meta"]["engine"]) == (True, "trino")
    assert own["data"]
    assert difference(own["data"], theirs["data"]) is None


@pytest.mark.parametrize("name", CUSTOM)
def test_a_large_custom_question_has_the_same_rows_on_trino(
    large: Tenant, duckdb_url: str, name: str
) -> None:
    query = {"query": {"table": "events", **CUSTOM[name]}}

    expected, found = answers(large, duckdb_url, "/v1/query/custom", query)

    assert found["meta"]["engine"] == "trino"
    assert expected["data"]
    assert difference(expected["data"], found["data"]) is None


def test_large_metrics_have_the_same_rows_on_trino(large: Tenant, duckdb_url: str) -> None:
    body = {"metrics": METRICS, "dimensions": ["path"]}

    expected, found = answers(large, duckdb_url, "/v1/query/metrics", body)

    assert found["meta"]["engine"] == "trino"
    assert len(expected["data"]) > 1
    assert difference(expected["data"], found["data"]) is None


def test_a_large_export_has_the_same_lines_on_trino(large: Tenant, duckdb_url: str) -> None:
    span = f"startDate={DAY}&endDate={DAY}&format=ndjson&website_id={large.website.id}"
    before = bytes_read(large.stack.settings.engine)["worker"]
    lines = [
        call("GET", f"{url}/v1/export/events?{span}", None, {"x-api-key": large.key}, SECONDS)
        for url in (duckdb_url, large.stack.query_url)
    ]

    expected, found = ([json.decode(line) for line in reply.body.splitlines()] for reply in lines)
    assert len(expected) == EVENTS
    assert difference(expected, found) is None
    assert bytes_read(large.stack.settings.engine)["worker"] > before


def test_a_small_question_stays_on_duckdb(large: Tenant, duckdb_url: str) -> None:
    query = {"query": {"table": "vitals", "selects": [COUNT]}}

    expected, found = answers(large, duckdb_url, "/v1/query/custom", query)

    assert (found["meta"]["engine"], found["data"]) == ("duckdb", [{"n": 1}])
    assert found["data"] == expected["data"]


def test_only_workers_of_trino_read_data_files(large: Tenant) -> None:
    read = bytes_read(large.stack.settings.engine)

    assert read["worker"] > 0
    assert read.get("coordinator", 0) == 0
