"""Mistakes that an analyst or developer makes: each is refused or told, never a wrong number."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from query.client import Client
from tests.flow.analyst.shop import ALL, LIVE, Shop, is_
from tests.flow.analyst.truth import Truth
from tests.flow.tenant import Tenant, at_ms
from tests.http_client import call
from tests.installation import Installation, eventually

PRO = [is_("path", "/pricing")]
COUNT = {"aggregate": "count", "field": "*"}
EVENTS = {"table": "events", "selects": [COUNT]}
MISPLACED: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "filter": ("", {"parameters": ["summary"], "filter": PRO}, "'filters'"),
    "group_by of a type": ("", {"parameters": ["summary"], "groupBy": ["path"]}, "groupBy"),
    "filters beside query": ("/custom", {"query": EVENTS, "filters": PRO}, "query"),
    "where": ("/custom", {"query": {**EVENTS, "where": PRO}}, "where"),
    "limit inside": ("/custom", {"query": {**EVENTS, "limit": 1}}, "limit"),
    "dimension": ("/metrics", {"metrics": ["visits"], "dimension": ["path"]}, "'dimensions'"),
    "website_id": ("", {"parameters": ["summary"], "website_id": "x"}, "website_id"),
}


@pytest.mark.parametrize("case", MISPLACED)
def test_a_misspelt_or_misplaced_member_is_refused(shop: Shop, case: str) -> None:
    route, body, named = MISPLACED[case]

    reply = shop.post(f"/v1/query{route}", body)

    assert reply.status == 400
    assert named in reply.json["error"]


def test_members_of_a_parameter_are_used(shop: Shop) -> None:
    [found] = shop.rows({"name": "top_pages", "filters": PRO, "limit": 5})

    assert (found["name"], found["pageviews"]) == (
        "/pricing",
        sum(act.path == "/pricing" for act in Truth(shop.acts).views),
    )


@pytest.mark.parametrize("spelling", ["timeZone", "time_zone", "timezone"])
def test_the_time_zone_is_taken_in_known_spellings(shop: Shop, spelling: str) -> None:
    body = {"parameters": ["summary"], "preset": "last_7d", spelling: "Asia/Kathmandu"}

    assert shop.post("/v1/query", body).json["meta"]["timezone"] == "Asia/Kathmandu"


def test_the_answer_says_how_many_parameters_failed(shop: Shop) -> None:
    reply = shop.post("/v1/query", {"parameters": ["summary", "summry"]}).json

    assert reply["failed"] == 1
    assert "summary" in reply["data"][1]["error"]


def test_a_granularity_that_a_type_cannot_use_is_refused(shop: Shop) -> None:
    reply = shop.post("/v1/query", {"parameters": ["top_pages"], "granularity": "hourly"})

    assert reply.status == 400


def test_properties_in_words_of_other_products_are_kept_or_named(stack: Installation) -> None:
    tenant = Tenant.create(stack)
    item = {"name": "x", "props": {"plan": "pro"}, "colour": "red", "timestamp": at_ms("10:00:00")}
    sent = tenant.send(item).json
    eventually(lambda: tenant.grouped_counts("events", "name"))

    assert tenant.grouped_counts("events", "properties.plan") == [("pro", 1)]
    assert sent["ignored"][0]["names"] == ["colour"]


def test_seconds_are_taken_as_seconds_and_moved_times_are_told(stack: Installation) -> None:
    tenant = Tenant.create(stack)
    seconds = int(time.time())
    item = {"name": "now", "timestamp": seconds}
    assert "adjusted" not in tenant.send(item).json
    assert (
        tenant.send({"name": "old", "timestamp": (seconds - 9 * 86_400) * 1000}).json["adjusted"]
        == 1
    )
    today = str(datetime.now(UTC).date())
    dates = {"startDate": today, "endDate": today}
    eventually(lambda: tenant.grouped_counts("events", "name", **dates) == [("now", 1)])


def test_a_day_of_counts_is_no_event(stack: Installation) -> None:
    """A line of another tool's totals, sent as history."""
    tenant = Tenant.create(stack)
    imports = f"{stack.query_url}/v1/imports"
    key = {"x-api-key": tenant.key}
    record = call("POST", imports, {"websiteId": tenant.website.id, "name": "a"}, key).json["data"]
    line = {"timestamp": "2025-11-01", "visitors": 10, "pageviews": 30, "bounces": 3}
    url = f"{stack.collect_url}/import?import_id={record['id']}"
    assert call("POST", url, [line], key).status == 400


def test_a_new_import_takes_its_first_lines_at_once(stack: Installation) -> None:
    """Or says when to come again; that it has no access would be wrong."""
    tenant = Tenant.create(stack)
    key = {"x-api-key": tenant.key}
    target = {"websiteId": tenant.website.id, "name": "a"}
    record = call("POST", f"{stack.query_url}/v1/imports", target, key).json["data"]
    url = f"{stack.collect_url}/import?import_id={record['id']}"
    lines = [{"name": "screen_view", "timestamp": "2025-11-01", "path": "/", "line": 1}]

    first = call("POST", url, lines, key)

    assert first.status == 200 or (first.status == 503 and first.headers["retry-after"])


def test_addresses_of_errors_are_stored_without_secrets(stack: Installation) -> None:
    tenant = Tenant.create(stack)
    address = "https://shop.example/?id=1&secret=1#frag"
    error = {
        "message": "boom",
        "path": address,
        "filename": address,
        "stack": f"Error: boom\n    at {address}:3:1",
        "timestamp": at_ms("10:00:00"),
    }
    assert tenant.send([error], "/errors").status == 200
    eventually(lambda: tenant.grouped_counts("errors", "message"))

    [(*stored, _)] = tenant.grouped_counts("errors", "path", "filename", "stack")
    assert "secret" not in json.dumps(stored)
    assert stored[1] == "https://shop.example/"


def test_the_client_keeps_the_comparison(shop: Shop) -> None:
    client = Client(shop.tenant.stack.query_url, shop.tenant.key)
    rows = client.ask(
        "summary",
        website_id=shop.id_of("shop"),
        start=LIVE["startDate"],
        end=LIVE["endDate"],
        compare={"to": {"startDate": ALL["startDate"], "endDate": ALL["startDate"]}},
    )

    [row] = rows
    assert row["change_pageviews"] == row["pageviews"] - row["previous_pageviews"]


def test_the_same_word_is_the_same_number(shop: Shop) -> None:
    """Visitors of the summary, of one bucket that holds all of it, and of metrics."""
    day = {"startDate": LIVE["endDate"], "endDate": LIVE["endDate"]}
    [summary] = shop.rows("summary", **day)
    [bucket] = shop.rows("events_by_date", **day)
    [metrics] = shop.metrics("visitors", "visits", **day)

    assert summary["unique_visitors"] == bucket["visitors"] == metrics["visitors"]
    assert summary["sessions"] == bucket["sessions"] == metrics["visits"]
