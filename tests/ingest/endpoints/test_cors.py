"""CORS: preflight requests of every route, and responses that browsers may read."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import InMemoryCollector

PREFLIGHTS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "clients" / "preflights.json").read_text()
)["requests"]

POSTED = ("/batch", "/track", "/vitals", "/errors", "/events", "/identify", "/engagement")


@pytest.mark.parametrize("preflight", PREFLIGHTS, ids=range(len(PREFLIGHTS)))
def test_a_recorded_preflight_is_allowed(
    collector: InMemoryCollector, preflight: dict[str, Any]
) -> None:
    url = f"{preflight['path']}?{urlencode(preflight['query'])}"

    reply = request_once(collector.app, "OPTIONS", url, headers=preflight["headers"])

    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == preflight["headers"]["origin"]
    assert reply.headers["access-control-allow-credentials"] == "true"
    allowed = reply.headers["access-control-allow-headers"]
    assert allowed == preflight["headers"]["access-control-request-headers"]
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert "x-ratelimit-limit" in reply.headers


@pytest.mark.parametrize("body", [{"name": "a"}, {"nam": "a"}])
def test_a_credentialed_beacon_may_read_its_response(
    collector: InMemoryCollector, body: object
) -> None:
    headers = {"origin": "https://shop.example", "cookie": "a=b", "content-type": "text/plain"}

    reply = collector.post("/track?website_id=shop", body, headers=headers)

    assert reply.headers["access-control-allow-origin"] == "https://shop.example"
    assert reply.headers["access-control-allow-credentials"] == "true"
    assert reply.headers["vary"] == "Origin"
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        *((path, "POST, OPTIONS") for path in POSTED),
        ("/", "GET, HEAD, POST, OPTIONS"),
        ("/px.jpg", "GET, OPTIONS"),
        ("/l/spring", "GET, HEAD, OPTIONS"),
        ("/health", "GET, OPTIONS"),
        ("/nothing", "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
    ],
)
def test_a_preflight_names_the_methods_of_the_route(
    collector: InMemoryCollector, path: str, methods: str
) -> None:
    preflight = {"origin": "https://shop.example", "access-control-request-method": "POST"}

    reply = request_once(collector.app, "OPTIONS", path, headers=preflight)

    assert reply.status == 204
    assert in_order(reply.headers["access-control-allow-methods"]) == in_order(methods)


@pytest.mark.parametrize(
    ("path", "methods"),
    [*((path, "POST, OPTIONS") for path in POSTED), ("/", "GET, HEAD, POST, OPTIONS")],
)
def test_options_are_answered_without_an_origin_too(
    collector: InMemoryCollector, path: str, methods: str
) -> None:
    reply = request_once(collector.app, "OPTIONS", path)

    assert (reply.status, reply.headers["allow"], reply.body) == (204, methods, b"")
    assert "access-control-allow-methods" not in reply.headers


def in_order(methods: str) -> list[str]:
    return sorted(methods.split(", "))
