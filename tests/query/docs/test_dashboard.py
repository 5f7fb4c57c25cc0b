"""The page at /: its files, addresses, policy and caching."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from query.app import create_app
from schemas.http.middleware import HttpMiddleware
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.query.query_service import NOW, InProcessService

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SCRIPT = b"console.log('the page');" * 50


@pytest.fixture
def app(service: InProcessService, tmp_path: Path) -> Iterator[HttpMiddleware]:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Tidemark</title>")
    (folder / "assets" / "main-AB12CD34.js").write_bytes(SCRIPT)
    (folder / "icon.svg").write_text("<svg/>")
    built = create_app(
        Settings(data_dir=str(service.data)), service.store, clock=lambda: NOW, page=folder
    )
    yield built.app
    built.close()


def get(app: HttpMiddleware, path: str, method: str = "GET", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return request_once(app, method, path, headers={**BROWSER, **named})


@pytest.mark.parametrize("path", ["/", "/sign-in", "/s/abc", "/shop/overview"])
def test_an_address_of_the_page_gives_the_page(app: HttpMiddleware, path: str) -> None:
    reply = get(app, path)

    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"<title>Tidemark" in reply.body
    assert reply.headers["cache-control"] == "no-cache"


def test_the_policy_allows_own_files_only(app: HttpMiddleware) -> None:
    policy = get(app, "/").headers["content-security-policy"].split("; ")

    assert policy[:3] == ["default-src 'none'", "script-src 'self'", "style-src 'self'"]
    assert policy[-1] == "frame-ancestors 'none'"
    assert not [part for part in policy if "unsafe" in part or "http" in part or "*" in part]


def test_clients_that_accept_json_get_the_overview(app: HttpMiddleware) -> None:
    reply = get(app, "/", accept="application/json")

    assert reply.json["service"] == "Tidemark query service"
    assert get(app, "/sign-in", accept="application/json").json["code"] == "NOT_FOUND"


@pytest.mark.parametrize("path", ["/v1", "/v1/nothing", "/docs/nothing", "/health/nothing"])
def test_paths_of_the_api_are_never_the_page(app: HttpMiddleware, path: str) -> None:
    reply = get(app, path)

    assert (reply.status, reply.json["error"]) == (404, "No such route")


def test_other_methods_are_not_answered(app: HttpMiddleware) -> None:
    assert get(app, "/sign-in", "POST").status == 404
    assert get(app, "/", "POST").status == 405
    assert get(app, "/v1/query", "GET").status == 405
    head = get(app, "/", "HEAD")
    assert (head.status, head.body) == (200, b"")


def test_files_are_compressed_and_kept(app: HttpMiddleware) -> None:
    path = "/assets/main-AB12CD34.js"
    plain = get(app, path)
    small = get(app, path, accept_encoding="br, gzip")

    assert plain.body == SCRIPT
    assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert small.headers["content-encoding"] == "gzip"
    assert gzip.decompress(small.body) == SCRIPT
    assert int(small.headers["content-length"]) == len(small.body) < len(SCRIPT)
    assert get(app, path, accept_encoding="gzip;q=0").body == SCRIPT
    assert get(app, "/icon.svg").headers["cache-control"] == "no-cache"


def test_a_known_file_is_not_sent_again(app: HttpMiddleware) -> None:
    tag = get(app, "/").headers["etag"]

    again = get(app, "/", if_none_match=tag)

    assert (again.status, again.body) == (304, b"")
    assert get(app, "/", if_none_match='"another"').status == 200


@pytest.mark.parametrize("path", ["/../query.db", "/assets/../../registry.db", "/%2e%2e/a"])
def test_no_file_outside_of_the_folder_is_sent(app: HttpMiddleware, path: str) -> None:
    assert b"<title>Tidemark" in get(app, path).body


def test_without_a_built_page_the_overview_is_shown(
    service: InProcessService, tmp_path: Path
) -> None:
    built = create_app(Settings(data_dir=str(service.data)), service.store, page=tmp_path / "none")

    assert b"Tidemark query service" in get(built.app, "/").body
    assert get(built.app, "/sign-in").status == 404
    built.close()
