"""Repeated headers: joined to one list, for every reader."""

from pathlib import Path

import pytest

from schemas.envelope import COUNTRY_HEADER
from schemas.http.asgi import header, headers_by_name
from tests.asgi_client import http_scope
from tests.ingest.in_memory_collector import in_memory_collector

PROXY = "203.0.113.0/24"
"""The tests' own address is in it."""


def test_all_readers_see_the_same_value() -> None:
    scope = http_scope("GET", "/", {"accept": "a\nb", "x-other": "1"})

    assert header(scope, b"accept") == "a, b"
    assert headers_by_name(scope) == {b"accept": b"a, b", b"x-other": b"1"}


def test_a_header_line_of_the_client_before_that_of_its_proxy_is_ignored(tmp_path: Path) -> None:
    collector = in_memory_collector(tmp_path, trusted_proxies=PROXY)
    headers = {"x-forwarded-for": "6.6.6.6\n198.51.100.9", "cf-ipcountry": "KP\nDE"}

    reply = collector.post("/track?website_id=shop", {"name": "a"}, headers=headers)

    assert reply.status == 200
    [envelope] = collector.producer.sent[0].envelopes
    assert (envelope.client_network, envelope.headers[COUNTRY_HEADER]) == ("198.51.100.0", "DE")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-api-key": "{key}\n{key}"}, 401),
        ({"authorization": "Bearer {key}\nBearer {key}"}, 401),
        ({"content-encoding": "identity\ngzip"}, 400),
        ({"databuddy-client-id": "shop\nblog"}, 403),
        ({"user-agent": "A\nB"}, 200),
    ],
)
def test_two_values_of_a_single_header_are_invalid(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    collector = in_memory_collector(tmp_path)
    request_headers = {
        name: value.format(key=collector.keys["acme"]) for name, value in headers.items()
    }
    path = "/track" if "databuddy-client-id" in request_headers else "/track?website_id=shop"

    assert collector.post(path, {"name": "a"}, headers=request_headers).status == status
