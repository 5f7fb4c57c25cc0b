"""The document of the query service, and the page that shows it."""

import json
import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from query.app import ENDPOINTS, OPENAPI_SERVICE
from query.standard.query_types import FAMILIES
from schemas.http.health import HEALTH_PATHS as HEALTH
from schemas.http.openapi import Operation, openapi_document
from tests.asgi_client import request_once
from tests.query.lake import a_view
from tests.query.query_service import InProcessService


def test_the_document_is_openapi_3_1(service: InProcessService) -> None:
    shown = service.ask("GET", "/openapi.json", key=None)

    assert shown.headers["content-type"] == "application/json"
    assert shown.json == json.loads(json.dumps(openapi_document(OPENAPI_SERVICE)))
    validate(shown.json)


def test_every_route_is_described_and_nothing_else() -> None:
    described = {
        (method.upper(), path)
        for path, methods in openapi_document(OPENAPI_SERVICE)["paths"].items()
        for method in methods
    }

    routes = {(e.operation.method, e.operation.path) for e in ENDPOINTS}
    assert described == routes | {("GET", path) for path in (*HEALTH, "/")}


def test_a_document_that_is_known_is_not_sent_again(service: InProcessService) -> None:
    first = service.ask("GET", "/openapi.json", key=None)
    again = request_once(
        service.app, "GET", "/openapi.json", None, {"if-none-match": first.headers["etag"]}
    )
    other = request_once(service.app, "GET", "/openapi.json", None, {"if-none-match": '"other"'})

    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert other.status == 200


def test_the_document_takes_get_only(service: InProcessService) -> None:
    assert service.ask("POST", "/openapi.json", {}, key=None).status == 405


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        pytest.param(operation, body, id=f"{operation.path}-{title}")
        for operation in OPENAPI_SERVICE.operations
        for title, body in operation.examples.items()
        if operation.method == "POST"
    ],
)
def test_every_example_is_answered_in_the_shape_that_is_promised(
    service: InProcessService, operation: Operation, body: object
) -> None:
    service.holds(a_view("/", country="DE"))
    path = operation.path
    takes_website = any(each.name == "website_id" for each in operation.parameters)
    subject = {"website_id": "shop"} if takes_website else {}

    if isinstance(body, dict) and "websiteId" in body:  # an id as the registry makes them
        body = {**body, "websiteId": "shop"}

    reply = service.ask("POST", path, body, key="acme-admin", **subject)

    assert reply.status in (200, 201), reply.body
    assert reply.json["success"] is True
    entries = reply.json["data"] if path == "/v1/query" else []
    assert all(entry["success"] for entry in entries), entries


def test_the_export_is_answered_as_its_examples_say(service: InProcessService) -> None:
    [export] = [
        operation
        for operation in OPENAPI_SERVICE.operations
        if operation.operation_id == "exportRows"
    ]
    examples = {p.name: str(p.example) for p in export.parameters if isinstance(p.example, str)}
    service.holds(a_view("/", country="DE"))

    reply = service.ask("GET", f"/v1/export/{examples.pop('table')}", website_id="shop", **examples)

    assert reply.status == 200
    assert reply.json == {"ts": "2026-11-10T12:00:00.000Z", "name": "screen_view"}


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/docs/page.css"])
def test_the_page_loads_nothing_from_elsewhere(service: InProcessService, path: str) -> None:
    page = service.ask("GET", path, key=None)

    assert page.status == 200
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert not re.search(rb"https?:|//[a-z]|innerHTML|eval\(", page.body)
    links = re.findall(rb'(?:src|href)="([^"]*)"', page.body)
    assert all(link.startswith(b"/") for link in links)
    unready = {"/health": 503}  # nothing is stored, and no process of the service runs
    assert all(
        service.ask("GET", link, key=None).status == unready.get(link, 200)
        for link in map(bytes.decode, links)
    )


@pytest.mark.parametrize("path", ["/v1/query", "/v1/query/custom", "/v1/query/compile"])
def test_a_get_of_a_post_route_is_told_how_to_call_it(service: InProcessService, path: str) -> None:
    reply = service.ask("GET", path, key=None)

    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    for part in ("use POST", "content-type: application/json", "x-api-key", "/docs"):
        assert part in reply.json["error"]


def test_the_root_says_what_the_service_is(service: InProcessService) -> None:
    reply = service.ask("GET", "/", key=None)

    assert reply.json["service"] == "Tidemark query service"
    for path in reply.json["links"].values():
        assert service.ask("GET", path, key=None).status == (503 if path == "/health" else 200)


COMPONENTS: dict[str, Any] = openapi_document(OPENAPI_SERVICE)["components"]["schemas"]


def rows_of(query_type: str) -> str:
    items = COMPONENTS["RowsByQueryType"]["properties"][query_type]["items"]
    return str(items["$ref"]).rpartition("/")[2]


def test_every_query_type_is_listed_with_its_description_and_fields() -> None:
    listed = COMPONENTS["RowsByQueryType"]["properties"]
    types = [query_type for family in FAMILIES for query_type in family]

    assert {name: each["description"] for name, each in listed.items()} == {
        query_type.name: query_type.description for query_type in types
    }
    for query_type in types:
        fields = COMPONENTS[rows_of(query_type.name)]["properties"]
        assert list(fields) == list(query_type.row.__struct_encode_fields__)


def test_rows_are_named_by_their_query_type_or_by_what_several_types_share() -> None:
    assert rows_of("vitals_overview") == "VitalsOverviewRow"
    assert rows_of("custom_events") == "CustomEventsRow"
    assert rows_of("top_pages") == rows_of("channels") == "TopEntryRow"
