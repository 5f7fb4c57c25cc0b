"""Any JSON gets a result or a 4xx, never a 500, and none of its text becomes SQL."""

import gzip
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from query.custom.tables import CUSTOM_TABLES
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.query.hostile_settings import EXAMPLES, SETTINGS
from tests.query.lake import a_click, a_view, a_vital, an_error, an_outbound_click
from tests.query.query_service import NOVEMBER, InProcessService, start_service
from tests.query.query_strategies import (
    anything,
    as_json,
    names_in,
    spoiled,
    valid_custom_requests,
    valid_filters,
    valid_metrics_requests,
    valid_standard_requests,
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessService]:
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(
        a_view("/"), an_outbound_click("https://x.example/"), an_error(), a_vital("LCP", 1)
    )
    running.holds(a_click())
    yield running
    running.close()


def unsaid(text: str) -> bool:
    """Whether an answer keeps to itself how it is made."""
    return not re.search(r"(?i)traceback|read_parquet|\bscoped\b|\.parquet|duckdb|\.py\b", text)


@SETTINGS
@given(body=valid_custom_requests())
def test_a_sound_custom_query_is_answered(service: InProcessService, body: object) -> None:
    reply = service.ask("POST", "/v1/query/custom", body, website_id="shop")

    assert reply.status == 200, reply.body


@SETTINGS
@given(body=valid_metrics_requests())
def test_a_sound_metrics_query_is_answered(service: InProcessService, body: object) -> None:
    reply = service.ask("POST", "/v1/query/metrics", body, website_id="shop")

    assert reply.status == 200, reply.body


@SETTINGS
@given(body=valid_standard_requests())
def test_a_sound_standard_query_is_answered(service: InProcessService, body: object) -> None:
    reply = service.ask("POST", "/v1/query", body, website_id="shop")

    assert reply.status == 200
    assert all(entry["success"] for entry in reply.json["data"]), reply.body


@SETTINGS
@given(body=anything | spoiled(valid_custom_requests()))
def test_any_json_as_a_custom_query_is_answered_or_refused(
    service: InProcessService, body: object
) -> None:
    reply = service.ask("POST", "/v1/query/custom", as_json(body), website_id="shop")

    assert reply.status in (200, 400), reply.body
    assert reply.json["success"] is (reply.status == 200)
    explained = service.ask("POST", "/v1/query/compile", as_json(body), website_id="shop")
    assert explained.status == reply.status, explained.body
    assert str(service.data) not in explained.body.decode()
    assert unsaid(reply.json.get("error", ""))


@SETTINGS
@given(body=anything | spoiled(valid_standard_requests()))
def test_any_json_as_a_standard_query_is_answered_or_refused(
    service: InProcessService, body: object
) -> None:
    reply = service.ask("POST", "/v1/query", as_json(body), website_id="shop")

    assert reply.status in (200, 400), reply.body
    assert unsaid(reply.json.get("error", ""))
    for entry in reply.json.get("data", ()):
        assert unsaid(entry.get("error", ""))


@SETTINGS
@given(body=anything | spoiled(valid_metrics_requests()))
def test_any_json_as_a_metrics_query_is_answered_or_refused(
    service: InProcessService, body: object
) -> None:
    reply = service.ask("POST", "/v1/query/metrics", as_json(body), website_id="shop")

    assert reply.status in (200, 400), reply.body
    assert unsaid(reply.json.get("error", ""))


FEWER = settings(SETTINGS, max_examples=max(1, EXAMPLES // 4))
FILTERS = st.just(list(CUSTOM_TABLES["events"].fields.items())).map(dict).flatmap(valid_filters)
LINK = {
    "name": "a",
    "targetUrl": "https://t.example/",
    "slug": "s",
    "externalId": None,
    "expiresAt": "2027-01-01T00:00:00Z",
    "ogTitle": "t",
    "iosUrl": "https://i.example/",
}
IMPORT = {"websiteId": "shop", "name": "a.csv"}


@FEWER
@given(filters=anything | FILTERS.filter(bool).flatmap(lambda f: spoiled(st.just({"f": f}))))
def test_any_filters_of_an_export_are_answered_or_refused(
    service: InProcessService, filters: Any
) -> None:
    filter_value = as_json(
        filters["f"] if isinstance(filters, dict) and "f" in filters else filters
    )
    began = time.monotonic()

    reply = service.ask(
        "GET", "/v1/export/events", website_id="shop", filters=filter_value.decode(), **NOVEMBER
    )

    assert reply.status in (200, 400), reply.body
    assert time.monotonic() - began < Settings().query_seconds


@FEWER
@given(body=anything | spoiled(st.just(LINK).map(dict)))
def test_any_json_as_a_link_is_taken_or_refused(service: InProcessService, body: Any) -> None:
    began = time.monotonic()

    running = service.ask("POST", "/v1/links", as_json(body))
    changed = service.ask("PATCH", "/v1/links/go", as_json(body))

    assert running.status in (201, 400, 403, 409), running.body
    assert changed.status in (200, 400, 403, 409), changed.body
    assert time.monotonic() - began < Settings().query_seconds


@FEWER
@given(body=anything | spoiled(st.just(IMPORT).map(dict)))
def test_any_json_as_an_import_is_taken_or_refused(service: InProcessService, body: Any) -> None:
    reply = service.ask("POST", "/v1/imports", as_json(body), "acme-admin")

    assert reply.status in (201, 400, 403), reply.body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"x"',
        b"1" * 400,
        b"[" * 100_000,
        b'{"query":' * 5_000,
        b'{"query": {"table": "\\ud800", "selects": []}}',
        b'{"a": 1e999999}',
        json.dumps({"query": {"table": "e" * 500_000, "selects": []}}).encode(),
    ],
)
def test_a_body_that_is_none_is_refused(service: InProcessService, body: bytes) -> None:
    for path in ("/v1/query", "/v1/query/custom"):
        reply = service.ask("POST", path, body, website_id="shop")

        assert (reply.status, reply.json["success"]) == (400, False)
        assert len(reply.json["error"]) < 400


def test_a_body_beyond_a_mebibyte_is_refused(service: InProcessService) -> None:
    reply = service.ask("POST", "/v1/query", b" " * 1_048_577, website_id="shop")

    assert (reply.status, reply.json["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_the_widest_query_allowed_is_answered(service: InProcessService) -> None:
    listed = {"field": "path", "operator": "in", "value": [f"/{n}" for n in range(40)]}
    query = {
        "table": "events",
        "selects": [{"field": "path", "aggregate": "count", "alias": f"n{i}"} for i in range(20)],
        "groupBy": ["path", "name", "country", "host", "title"],
        "filters": [listed] * 50,
    }

    reply = service.ask("POST", "/v1/query/custom", {"query": query, **NOVEMBER}, website_id="shop")

    assert reply.status == 200, reply.body


@pytest.mark.parametrize("path", ["/v1/query/custom", "/v1/query/compile", "/v1/query"])
def test_fifty_lists_of_a_thousand_values_are_refused_before_anything_runs(
    service: InProcessService, path: str
) -> None:
    filters = [{"not": {"or": [names_in(1000)] * 10}}] * 5
    query = {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]}
    standard = {"parameters": ["summary"], "filters": filters}
    body = standard if path == "/v1/query" else {"query": {**query, "filters": filters}}

    reply = service.ask("POST", path, {**body, **NOVEMBER}, website_id="shop")

    assert "filters' has 50000 values in its lists; at most 2000" in str(reply.json)
    assert not reply.json["success"] or not reply.json["data"][0]["success"]


def test_a_listed_number_is_found_however_its_neighbours_are_written(
    service: InProcessService,
) -> None:
    service.holds(a_view("/listed", website="shop", load_time=3))
    listed = {"field": "load_time", "operator": "in", "value": [2**62, 3.0, 0.5, -(10**13)]}
    many = [*listed["value"], *range(100, 200)]
    here = {"field": "path", "operator": "eq", "value": "/listed"}
    count = {"field": "*", "aggregate": "count", "alias": "n"}

    for operator, values, found in (
        ("in", listed["value"], 1),
        ("not_in", listed["value"], 0),
        ("in", many, 1),
        ("not_in", many, 0),
    ):
        filters = [here, {**listed, "operator": operator, "value": values}]
        query = {"table": "events", "selects": [count], "filters": filters}
        reply = service.ask(
            "POST", "/v1/query/custom", {"query": query, **NOVEMBER}, website_id="shop"
        )
        assert reply.json["data"] == [{"n": found}]


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd, gzip"])
def test_a_compressed_body_is_refused_by_its_header(service: InProcessService, coding: str) -> None:
    body = gzip.compress(json.dumps({"parameters": ["summary"], **NOVEMBER}).encode())
    headers = {"x-api-key": service.keys["acme"], "content-encoding": coding}

    reply = request_once(service.app, "POST", "/v1/query?website_id=shop", body, headers)

    assert (reply.status, reply.json["code"]) == (400, "VALIDATION_ERROR")
    assert f"'Content-Encoding' is {coding}" in reply.json["error"]
