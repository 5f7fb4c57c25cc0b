"""The API page of both services, and its files."""

from pathlib import Path

import pytest

from schemas.errors import MethodNotAllowed, Unavailable
from schemas.http.docs.pages import api_pages, static_file
from tests.asgi_client import request_once

PAGES = api_pages("Links & more", lambda: "<section>own part</section>")


def test_the_page_has_its_title_and_section() -> None:
    reply = request_once(PAGES["/docs"], "GET", "/docs")

    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert b"<title>Links &amp; more</title>" in reply.body
    assert b"<section>own part</section>" in reply.body


@pytest.mark.parametrize("path", PAGES)
def test_every_file_is_there_under_a_policy_for_this_host(path: str) -> None:
    reply = request_once(PAGES[path], "GET", path)
    head = request_once(PAGES[path], "HEAD", path)

    assert reply.status == 200
    assert reply.headers["content-security-policy"].startswith("default-src 'self'")
    assert (head.headers["content-length"], head.body) == (str(len(reply.body)), b"")


def test_a_page_takes_get_only() -> None:
    with pytest.raises(MethodNotAllowed):
        request_once(PAGES["/docs"], "POST", "/docs")


def test_a_file_that_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    file = tmp_path / "swagger-ui.css"
    endpoint = static_file(file, "text/css")

    with pytest.raises(Unavailable, match="run `make setup`"):
        request_once(endpoint, "GET", "/docs/swagger-ui.css")

    file.write_text("a {}")
    assert request_once(endpoint, "GET", "/docs/swagger-ui.css").body == b"a {}"
