"""Country headers: accepted from trusted proxies only, by the names in the settings."""

from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import COUNTRY_HEADER
from tests.ingest.in_memory_collector import in_memory_collector

PROXY = "203.0.113.0/24"
"""The tests' own address is in it."""


@pytest.mark.parametrize(
    ("settings", "headers", "kept_headers"),
    [
        ({}, {"cf-ipcountry": "DE"}, {}),
        ({"trusted_proxies": "10.0.0.0/8"}, {"cf-ipcountry": "DE"}, {}),
        ({"trusted_proxies": PROXY}, {"cf-ipcountry": "DE"}, {COUNTRY_HEADER: "DE"}),
        ({"trusted_proxies": PROXY}, {}, {}),
        ({"trusted_proxies": PROXY}, {"cf-ipcountry": ""}, {}),
        ({"trusted_proxies": PROXY}, {"x-vercel-ip-country": "DE"}, {}),
        ({"trusted_proxies": PROXY}, {"country": "DE"}, {}),
        (
            {"trusted_proxies": PROXY, "country_headers": "X-Vercel-IP-Country, cf-ipcountry"},
            {"cf-ipcountry": "FR", "x-vercel-ip-country": "DE"},
            {COUNTRY_HEADER: "DE"},
        ),
        ({"trusted_proxies": PROXY, "country_headers": ""}, {"cf-ipcountry": "DE"}, {}),
    ],
)
def test_only_a_trusted_proxy_sets_the_country(
    tmp_path: Path, settings: dict[str, Any], headers: dict[str, str], kept_headers: dict[str, str]
) -> None:
    collector = in_memory_collector(tmp_path, **settings)

    reply = collector.post("/track?website_id=shop", {"name": "a"}, headers=headers)

    assert reply.status == 200
    assert collector.producer.sent[0].envelopes[0].headers == kept_headers
