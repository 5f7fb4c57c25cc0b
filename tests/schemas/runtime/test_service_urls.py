"""URLs of the services, on this machine and for browsers."""

import pytest

from schemas.runtime.service_urls import collector_url, public_collector_url, query_service_url
from schemas.runtime.settings import Settings


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:4000"),
        ("::", "http://[::1]:4000"),
        ("10.0.0.7", "http://10.0.0.7:4000"),
    ],
)
def test_a_service_is_reached_at_its_address(host: str, url: str) -> None:
    assert collector_url(Settings(host=host)) == public_collector_url(Settings(host=host)) == url
    assert query_service_url(Settings(host=host)) == url.replace("4000", "4001")


def test_browsers_reach_the_collector_at_its_public_url() -> None:
    settings = Settings(collect_url="https://t.shop.example/")

    assert public_collector_url(settings) == "https://t.shop.example"
