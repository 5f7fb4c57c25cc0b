"""The collector's OpenAPI document covers every route, kind and tracker format."""

from pathlib import Path

import pytest
from openapi_spec_validator import validate
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.app import ENDPOINTS, collector_api
from ingest.decoding.tracker_formats import TRACKER_FORMATS
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.endpoints.mixed import MIXED_ROUTES
from schemas.http.asgi import send_json
from schemas.http.openapi import Operation, Response, openapi_document
from schemas.kinds import KINDS
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import NOW, in_memory_collector


def test_the_document_is_openapi_3_1() -> None:
    validate(openapi_document(collector_api()))


def test_every_kind_of_item_is_described_with_its_fields() -> None:
    document = openapi_document(collector_api())

    for kind in KINDS:
        if kind.path:
            assert "post" in document["paths"][kind.path]
            schema = document["components"]["schemas"][kind.item.__name__]
            assert set(schema["properties"]) == set(kind.item.__struct_encode_fields__)


def test_a_batch_has_the_limits_of_the_collector() -> None:
    body = openapi_document(collector_api())["paths"]["/vitals"]["post"]["requestBody"]

    assert body["content"]["application/json"]["schema"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Vital"},
        "minItems": 1,
        "maxItems": 500,
    }


def test_every_mixed_route_is_described() -> None:
    paths = openapi_document(collector_api())["paths"]

    assert {(route.operation.path, route.operation.method.lower()) for route in MIXED_ROUTES} <= {
        (path, method) for path, methods in paths.items() for method in methods
    }


def test_items_of_mixed_routes_have_type_as_discriminator() -> None:
    body = openapi_document(collector_api())["paths"]["/"]["post"]["requestBody"]

    schema = body["content"]["application/json"]["schema"]
    assert schema["discriminator"]["propertyName"] == "type"
    assert set(schema["discriminator"]["mapping"]) == set(TRACKER_FORMATS)


def test_every_route_without_items_is_described() -> None:
    paths = openapi_document(collector_api())["paths"]

    assert set(paths["/robots.txt"]["get"]["responses"]["200"]["content"]) == {"text/plain"}
    assert {"/l/{slug}", "/tidemark.js", "/debug", "/robots.txt", "/health"} <= set(paths)


def time_endpoint(dependencies: Dependencies) -> ASGIApp:
    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        dependencies.middleware.admit_anonymous(scope)
        await send_json(send, 200, {"time": dependencies.clock(), "path": scope["path"]})

    return endpoint


def time_operation(path: str) -> Operation:
    return Operation(
        method="GET",
        path=path,
        operation_id="time",
        tag="Time",
        summary="Time of the collector",
        responses=(Response(200, "the time"),),
        errors=(),
        security=({},),
    )


def test_one_more_endpoint_needs_its_declaration_only(tmp_path: Path) -> None:
    one_more = CollectorEndpoint((time_operation("/time"),), time_endpoint)
    collector = in_memory_collector(tmp_path, endpoints=(*ENDPOINTS, one_more))

    assert collector.get("/time").json == {"time": NOW, "path": "/time"}
    assert collector.get("/time/zone").status == 404
    assert collector.get("/openapi.json").json["paths"]["/time"]["get"]["operationId"] == "time"


def test_an_endpoint_whose_path_has_a_variable_serves_every_path_below(tmp_path: Path) -> None:
    one_more = CollectorEndpoint((time_operation("/time/{zone}"),), time_endpoint)
    collector = in_memory_collector(tmp_path, endpoints=(*ENDPOINTS, one_more))

    assert collector.get("/time/UTC").json == {"time": NOW, "path": "/time/UTC"}
    assert collector.get("/time").status == 404
    assert collector.get("/l/none").status == 404


def test_the_root_takes_get_and_post(tmp_path: Path) -> None:
    collector = in_memory_collector(tmp_path)

    assert collector.get("/").json["service"] == "Tidemark collector"
    rejected = request_once(collector.app, "PUT", "/")
    assert (rejected.status, rejected.headers["allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize("path", ["/track", "/vitals", "/errors", "/batch", "/import"])
def test_a_get_of_a_post_route_is_told_how_to_call_it(tmp_path: Path, path: str) -> None:
    reply = in_memory_collector(tmp_path).get(path)

    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    for part in ("use POST", "content-type: application/json", "x-api-key", "/docs"):
        assert part in reply.json["message"]


def test_the_collector_has_an_api_page(tmp_path: Path) -> None:
    page = in_memory_collector(tmp_path).get("/docs")

    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"Tidemark Collection API" in page.body
