"""Allowed origins: a website may list the origins from which browsers send for it."""

from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec import structs

from schemas.errors import Malformed
from schemas.registry.allowed_origins import origin_allowed, validate_origins
from tests.http_client import Reply
from tests.ingest.in_memory_collector import InMemoryCollector, in_memory_collector

LIST = ("https://shop.example", "https://*.shop.example", "http://localhost:8080")


@pytest.fixture
def collector(tmp_path: Path) -> InMemoryCollector:
    in_memory = in_memory_collector(tmp_path)
    known = in_memory.registry.snapshot
    shop = structs.replace(known.websites["shop"], allowed_origins=LIST)
    websites = MappingProxyType({**known.websites, "shop": shop})
    in_memory.registry.snapshot = structs.replace(known, websites=websites)
    return in_memory


def sent(
    collector: InMemoryCollector, origin: str | None, path: str = "/track?website_id=shop"
) -> Reply:
    headers = {"origin": origin} if origin is not None else {}
    return collector.post(path, [{"name": "a"}], headers=headers)


def test_a_page_of_another_origin_cannot_send_to_a_website_with_a_list(
    collector: InMemoryCollector,
) -> None:
    reply = sent(collector, "https://evil.example")

    assert (reply.status, reply.json["code"]) == (403, "ACCESS_DENIED")
    assert reply.json["message"].endswith(
        "does not accept items from the origin 'https://evil.example'"
    )
    assert reply.headers["access-control-allow-origin"] == "https://evil.example"
    assert collector.producer.sent == []


@pytest.mark.parametrize("origin", ["https://shop.example", "https://a.b.shop.example", None])
def test_allowed_origins_and_clients_without_origin_can_send(
    collector: InMemoryCollector, origin: str | None
) -> None:
    assert sent(collector, origin).status == 200


def test_a_website_id_in_the_item_does_not_bypass_the_list(collector: InMemoryCollector) -> None:
    item = {"name": "a", "websiteId": "shop"}

    for path in ("/track", "/batch", "/events"):
        reply = collector.post(path, [item], headers={"origin": "https://evil.example"})
        assert reply.status == 403, path
    assert collector.producer.sent == []


def test_a_key_sends_from_anywhere(collector: InMemoryCollector) -> None:
    headers = {"origin": "https://evil.example"}

    assert collector.post("/track?website_id=shop", [{"name": "a"}], "acme", headers).status == 200


def test_a_website_without_a_list_accepts_every_origin(collector: InMemoryCollector) -> None:
    assert sent(collector, "https://evil.example", "/track?website_id=blog").status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://shop.example",
        "https://shop.example:8443",
        "https://evilshop.example",
        "https://shop.example.evil.example",
        "http://a.shop.example",
        "https://.evil",
        "http://localhost:8081",
        "",
    ],
)
def test_an_origin_that_resembles_an_allowed_one_is_refused(origin: str) -> None:
    assert not origin_allowed(LIST, origin)


@pytest.mark.parametrize(
    "value",
    ["shop.example", "https://", "https://*", "ftp://a.example", "https://a.example/path", "null"],
)
def test_an_invalid_origin_cannot_be_listed(value: str) -> None:
    with pytest.raises(Malformed, match="'allowedOrigins' has"):
        validate_origins([value])
