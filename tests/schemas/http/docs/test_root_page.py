"""GET / of a service."""

import pytest

from schemas.errors import MethodNotAllowed
from schemas.http.docs.root_page import OtherService, ServiceOverview, root_page
from tests.asgi_client import request_once

PAGE = root_page(
    ServiceOverview(
        service="Tidemark test",
        description="Answers <questions>.",
        links={"API page": "/docs"},
        readme={"First queries": "README.md, Try it"},
    ),
    4001,
    OtherService("Collector", 4000),
)


def test_others_than_browsers_get_json() -> None:
    reply = request_once(PAGE, "GET", "/", headers={"host": "stats.example"})

    assert reply.headers["content-type"] == "application/json"
    assert reply.json == {
        "service": "Tidemark test",
        "description": "Answers <questions>.",
        "links": {"API page": "/docs"},
        "readme": {"First queries": "README.md, Try it"},
    }


def test_browsers_get_html() -> None:
    reply = request_once(PAGE, "GET", "/", headers={"accept": "text/html,*/*;q=0.8"})

    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["content-security-policy"].startswith("default-src 'self'")
    assert b'<a href="/docs">API page</a>' in reply.body
    assert b"Answers &lt;questions&gt;." in reply.body


@pytest.mark.parametrize(
    ("host", "collector"),
    [
        ("127.0.0.1:4001", "http://127.0.0.1:4000/"),
        ("[::1]:4001", "http://[::1]:4000/"),
        ("analytics.internal:4001", "http://analytics.internal:4000/"),
        ("stats.example", None),
        ("stats.example:8443", None),
        ('"><script>:4001', None),
    ],
)
def test_the_other_service_is_linked_when_this_one_is_addressed_by_its_own_port(
    host: str, collector: str | None
) -> None:
    reply = request_once(PAGE, "GET", "/", headers={"host": host})

    assert reply.json["links"].get("Collector") == collector


def test_head_has_no_body_and_other_methods_are_rejected() -> None:
    assert request_once(PAGE, "HEAD", "/", headers={"accept": "text/html"}).body == b""
    with pytest.raises(MethodNotAllowed, match="GET, HEAD"):
        request_once(PAGE, "POST", "/")
