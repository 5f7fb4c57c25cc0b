"""The HTTP contract, endpoint by endpoint, against the running services."""

import time
from datetime import datetime
from typing import Any

import pytest

from tests.flow.contract_requests import COUNT, EVENT
from tests.flow.tenant import DAY, Tenant
from tests.http_client import Reply, call
from tests.installation import Installation, eventually

LIMITS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


def custom(tenant: Tenant, **query: Any) -> Reply:
    return tenant.custom({"table": "events", "selects": [COUNT], **query})


# The standard query


def test_one_request_returns_several_types_in_order(tenant: Tenant) -> None:
    reply = tenant.ask("outbound_links", "summary", "outbound_domains", limit=7, page=1)

    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    body = reply.json
    assert (body["success"], bool(body["queryId"])) == (True, True)
    assert [(e["parameter"], e["success"]) for e in body["data"]] == [
        ("outbound_links", True),
        ("summary", True),
        ("outbound_domains", True),
    ]
    meta = {n: body["meta"][n] for n in ("parameters", "total_parameters", "page", "limit")}
    assert meta == {
        "parameters": ["outbound_links", "summary", "outbound_domains"],
        "total_parameters": 3,
        "page": 1,
        "limit": 7,
    }
    assert body["meta"]["filters_applied"] == 0


def test_filters_are_counted_and_applied(tenant: Tenant) -> None:
    tenant.send([{**EVENT, "name": "a"}, {**EVENT, "name": "b"}])
    eventually(lambda: tenant.rows("summary")[0]["total_events"] == 2)

    reply = tenant.ask("summary", filters=[{"field": "name", "op": "eq", "value": "a"}])

    assert reply.json["meta"]["filters_applied"] == 1
    assert reply.json["data"][0]["data"][0]["total_events"] == 1


def test_an_unknown_type_fails_alone(tenant: Tenant) -> None:
    body = tenant.ask("summry", "summary").json

    assert [(e["parameter"], e["success"]) for e in body["data"]] == [
        ("summry", False),
        ("summary", True),
    ]
    assert "summry" in body["data"][0]["error"]
    assert "summary" in body["data"][0]["error"]


def test_a_link_type_does_not_answer_for_a_website(tenant: Tenant) -> None:
    assert tenant.ask("link_total_clicks").json["data"][0]["success"] is False
    assert tenant.ask("summary", link=True).json["data"][0]["success"] is False


def test_points_are_labelled_by_granularity(tenant: Tenant) -> None:
    daily = tenant.rows("link_clicks_by_day", link=True, granularity="daily")
    hourly = tenant.rows("link_clicks_by_day", link=True, granularity="hourly")

    assert daily == [{"date": str(DAY), "clicks": 0}]
    assert [row["date"] for row in hourly] == [f"{DAY} {hour:02}:00:00" for hour in range(24)]


def test_another_page_holds_the_next_rows(tenant: Tenant) -> None:
    tenant.send(
        [
            {**EVENT, "name": "screen_view", "path": f"/p{n}", "anonymousId": f"v{n}-{k}"}
            for n in range(3)
            for k in range(n + 1)
        ]
    )
    eventually(lambda: len(tenant.rows("pages")) == 3)

    pages = [tenant.rows("pages", limit=1, page=n) for n in (1, 2, 3, 4)]

    assert [[row["name"] for row in page] for page in pages] == [["/p2"], ["/p1"], ["/p0"], []]


# The custom query


def test_a_custom_query_groups_and_aggregates(tenant: Tenant) -> None:
    tenant.send([{**EVENT, "path": "/a"}, {**EVENT, "path": "/a", "anonymousId": "anon-2"}, EVENT])
    query = {
        "table": "events",
        "selects": [COUNT, {"field": "anonymous_id", "aggregate": "uniq", "alias": "visitors"}],
        "groupBy": ["path"],
        "filters": [{"field": "path", "operator": "eq", "value": "/a"}],
    }
    eventually(lambda: tenant.custom(query).json["data"] == [{"path": "/a", "n": 2, "visitors": 2}])

    meta = tenant.custom(query, timezone="America/New_York").json["meta"]

    assert meta["rowCount"] == 1
    assert isinstance(meta["executionTime"], int)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("events", "path"),
        ("events", "anonymous_id"),
        ("events", "country"),
        ("events", "browser_name"),
        ("sessions", "duration"),
        ("sessions", "country"),
        ("errors", "message"),
        ("errors", "level"),
        ("errors", "path"),
        ("vitals", "metric_name"),
        ("clicks", "referrer"),
        ("outbound", "href"),
    ],
)
def test_documented_columns_can_be_queried(tenant: Tenant, table: str, column: str) -> None:
    selects = [COUNT, {"field": column, "aggregate": "uniq", "alias": "different"}]
    reply = tenant.custom({"table": table, "selects": selects})

    assert (reply.status, reply.json["data"]) == (200, [{"n": 0, "different": 0}])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"groupBy": ["contry"]}, "Unknown column 'contry' in table 'events'"),
        ({"table": "evnts"}, "evnts"),
        ({"selects": []}, "selects"),
        ({"selects": [{"field": "*", "aggregate": "avg"}]}, "avg"),
        ({"selects": [{"field": "path", "aggregate": "median"}]}, "path"),
        ({"selects": [{**COUNT, "alias": "n; DROP TABLE events"}]}, "alias"),
        ({"selects": [{"field": "*", "aggregate": "mode"}]}, "mode"),
        ({"selects": [COUNT] * 21}, "20"),
        ({"groupBy": ["path", "name", "country", "city", "region", "title"]}, "5"),
        ({"filters": [{"field": "path", "operator": "like", "value": "x"}]}, "like"),
        ({"filters": [{"field": "secret_hash", "operator": "eq", "value": 1}]}, "secret_hash"),
    ],
)
def test_an_invalid_custom_query_names_the_invalid_field(
    tenant: Tenant, query: dict[str, Any], message: str
) -> None:
    reply = custom(tenant, **query)

    assert reply.status == 400
    assert reply.json["success"] is False
    assert message in reply.json["error"]


# Authentication and errors


def test_a_query_with_no_key_or_an_invalid_one_is_rejected(tenant: Tenant) -> None:
    for key in ("", "tm_wrong_key", "nonsense"):
        reply = tenant.ask("summary", key=key)

        assert (reply.status, reply.json["success"]) == (401, False)
        assert isinstance(reply.json["error"], str)


def test_a_subject_of_another_tenant_looks_like_one_that_does_not_exist(
    stack: Installation, tenant: Tenant
) -> None:
    other = Tenant.create(stack)

    foreign = tenant.ask("summary", key=other.key)
    url = f"{stack.query_url}/v1/query?website_id=web_doesnotexist"
    absent = call("POST", url, {"parameters": ["summary"]}, {"x-api-key": other.key})

    assert (foreign.status, foreign.json) == (403, absent.json)
    assert absent.status == 403


def test_errors_have_the_body_of_their_service(stack: Installation) -> None:
    query = call("GET", f"{stack.query_url}/nowhere")
    collect = call("GET", f"{stack.collect_url}/nowhere")
    method = call("PUT", f"{stack.collect_url}/track", {})

    assert (query.status, query.json["success"], type(query.json["error"])) == (404, False, str)
    assert (collect.status, collect.json["status"]) == (404, "error")
    assert (method.status, method.json["status"]) == (405, "error")
    assert method.headers["allow"] == "POST"
    assert isinstance(collect.json["message"], str)


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b'{"parameters": []}', b"[]", b"null", b'"x"'])
def test_an_invalid_body_is_rejected_with_a_message(tenant: Tenant, body: bytes) -> None:
    url = f"{tenant.stack.query_url}/v1/query?website_id={tenant.website.id}"

    reply = call("POST", url, body, {"x-api-key": tenant.key})

    assert (reply.status, reply.json["success"]) == (400, False)
    assert not any(word in reply.json["error"].lower() for word in ("select ", "traceback", ".py"))


# Rate limits


def test_every_response_has_the_rate_limit_headers(stack: Installation, tenant: Tenant) -> None:
    answers = [
        tenant.ask("summary"),
        tenant.ask("summary", key="x"),
        custom(tenant),
        custom(tenant, table="x"),
        tenant.send(EVENT),
        tenant.send(b"{"),
        call("GET", f"{stack.query_url}/nowhere"),
        call("GET", f"{stack.collect_url}/nowhere"),
        call("GET", f"{stack.collect_url}/health"),
        call("GET", f"{stack.query_url}/health/ready"),
        call("GET", f"{stack.collect_url}/l/{tenant.link.slug}"),
        call("PUT", f"{stack.collect_url}/track"),
    ]

    for response in answers:
        limit, remaining, reset = (int(response.headers[name]) for name in LIMITS)
        assert 0 <= remaining <= limit
        assert time.time() - 2 <= reset <= time.time() + 62


def test_a_batch_of_types_counts_as_one_request(tenant: Tenant) -> None:
    first = tenant.ask("summary", "pages", "traffic", "outbound_links")
    second = tenant.ask("summary")

    left = [int(reply.headers["x-ratelimit-remaining"]) for reply in (first, second)]
    assert left[0] - left[1] == 1


def test_an_exceeded_rate_limit_has_the_documented_body(stack: Installation) -> None:
    tenant = Tenant.create(stack, plan="free")
    replies = [custom(tenant) for _ in range(31)]

    refused = replies[-1]
    assert refused.status == 429
    body = refused.json
    assert (body["success"], body["code"]) == (False, "RATE_LIMIT_EXCEEDED")
    assert (body["limit"], body["remaining"]) == (30, 0)
    assert 1 <= body["retryAfter"] <= 65  # requests leave the window in steps of five seconds
    assert refused.headers["retry-after"] == str(body["retryAfter"])
    assert datetime.fromisoformat(body["reset"]).timestamp() > time.time()
    assert refused.headers["x-ratelimit-remaining"] == "0"
    assert tenant.ask("summary").status == 200
