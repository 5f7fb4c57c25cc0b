"""Static contents, and what anybody may request: limited by network and size, or small."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.app import collector_api
from query.app import ENDPOINTS
from query.docs.openapi import describe_api
from query.docs.pages import PAGES
from schemas.http.docs.pages import api_pages
from schemas.http.health import HEALTH_PATHS
from schemas.http.middleware import HttpMiddleware
from schemas.http.openapi import ApiDescription
from schemas.http.static_content import StaticContent, send_static
from schemas.plans import PLANS, Group
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.ingest.in_memory_collector import in_memory_collector
from tests.query.query_service import start_service

LIMIT = PLANS["free"][Group.PUBLIC].requests
SMALL_BYTES = 11_000
"""Bytes of the largest response that is not counted: a tracker script without compression."""
NOT_SET_UP = ("/v1/sign-in/oidc", "/v1/unsubscribe")
"""Of single sign-on, which this service has not, and of mails, without a link: 404. Of health,
nothing runs that it checks."""
NOT_COUNTED = ("/", *HEALTH_PATHS, "/robots.txt")
"""Small, and made without effort; so are the tracker scripts, of which each page loads several."""
EVERYONE: tuple[dict[str, tuple[str, ...]], ...] = ({},)


def read(app: HttpMiddleware, path: str, *, headers: dict[str, str] | None = None) -> Reply:
    return request_once(app, "GET", path, headers={"accept": "application/json", **(headers or {})})


def remaining(app: HttpMiddleware) -> int:
    return int(read(app, "/health/live").headers["x-ratelimit-remaining"])


@pytest.fixture(params=["collector", "query"])
def service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[HttpMiddleware, list[str]]]:
    """A service, and what it serves everybody."""
    if request.param == "collector":
        app = in_memory_collector(tmp_path).app
        yield app, [*public_paths(collector_api()), *api_pages(""), "/openapi.json"]
    else:
        running = start_service(tmp_path)
        paths = public_paths(describe_api(ENDPOINTS))
        yield running.app, [*paths, "/v1/query/types?include_meta=true", *PAGES, "/openapi.json"]
        running.close()


def public_paths(api: ApiDescription) -> Iterator[str]:
    """The paths that need no key and no values."""
    for operation in api.operations:
        is_public = operation.method == "GET" and operation.security == EVERYONE
        if is_public and "{" not in operation.path:
            yield operation.path


def test_what_everybody_may_request_is_counted_or_small(
    service: tuple[HttpMiddleware, list[str]],
) -> None:
    app, paths = service
    assert {"/", "/health", "/docs", "/openapi.json"} <= set(paths)
    for path in paths:
        before = remaining(app)

        reply = read(app, path)

        cost = before - remaining(app)
        assert reply.status == 200 or path in HEALTH_PATHS or path.startswith(NOT_SET_UP), path
        if path in NOT_COUNTED or (path.endswith(".js") and not path.startswith("/docs")):
            assert (cost, len(reply.body) < SMALL_BYTES) == (0, True), path
        else:
            assert cost == 1 + len(reply.body) // 16_384, path


def test_one_network_gets_a_hundred_megabytes_a_minute_of_the_api_document(
    service: tuple[HttpMiddleware, list[str]],
) -> None:
    app, _ = service
    size, sent = len(read(app, "/openapi.json").body), 0
    for _ in range(LIMIT):
        reply = read(app, "/openapi.json")
        if reply.status == 429:
            break
        sent += len(reply.body)

    assert reply.status == 429
    assert sent <= LIMIT * 16_384 + size
    assert request_once(app, "GET", "/openapi.json", address="198.51.100.7").status == 200


def test_a_content_is_sent_compressed_and_once(service: tuple[HttpMiddleware, list[str]]) -> None:
    app, _ = service
    plain = read(app, "/openapi.json")
    packed = read(app, "/openapi.json", headers={"accept-encoding": "br, gzip"})
    refused = read(app, "/openapi.json", headers={"accept-encoding": "gzip;q=0"})
    before = remaining(app)
    again = read(app, "/openapi.json", headers={"if-none-match": plain.headers["etag"]})

    assert gzip.decompress(packed.body) == plain.body == refused.body
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < len(plain.body) / 4
    assert packed.headers["vary"] == "Accept-Encoding"
    assert (again.status, again.body) == (304, b"")
    assert before - remaining(app) == 1


def test_bytes_that_do_not_compress_are_sent_as_they_are() -> None:
    content = StaticContent.of(b"a", "text/plain")

    async def app(scope, _receive, send) -> None:  # type: ignore[no-untyped-def]
        await send_static(scope, send, content, [])

    reply = request_once(app, "GET", "/", headers={"accept-encoding": "gzip"})
    assert (reply.body, "content-encoding" in reply.headers) == (b"a", False)
