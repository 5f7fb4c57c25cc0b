"""Rate limits: what clients without a key, tenants and servers can use up of each other."""

import gzip
from pathlib import Path

import msgspec
import pytest

from schemas.http.admission import PUBLIC_GROUP_LIMIT
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import InMemoryCollector, in_memory_collector

HOME, OFFICE, CAFE = "203.0.113.7", "198.51.100.7", "192.0.2.7"
EVENT = {"name": "a"}
SHOP, BLOG = "/track?website_id=shop", "/track?website_id=blog"


@pytest.fixture
def collector(tmp_path: Path) -> InMemoryCollector:
    """Acme may send 20 requests within a minute with keys, and 20 to each website without."""
    collector = in_memory_collector(tmp_path)
    collector.set_limits("acme", collect=20, redirects=20)
    return collector


def statuses(
    collector: InMemoryCollector, times: int, path: str, body: object, address: str
) -> list[int]:
    return [collector.post(path, body, address=address).status for _ in range(times)]


def test_one_network_without_a_key_cannot_use_up_the_limit_of_others(
    collector: InMemoryCollector,
) -> None:
    assert statuses(collector, 11, SHOP, EVENT, HOME) == [200] * 10 + [429]

    assert (
        collector.post(SHOP, EVENT, key="acme", address=HOME).status == 200
    )  # a server with a key
    assert collector.post(BLOG, EVENT, address=HOME).status == 200  # another website
    assert collector.post(SHOP, EVENT, address=OFFICE).status == 200  # other visitors of the same


def test_many_networks_without_a_key_use_up_one_website_and_no_key(
    collector: InMemoryCollector,
) -> None:
    for address in (HOME, OFFICE):
        assert statuses(collector, 10, SHOP, EVENT, address) == [200] * 10

    closed = collector.post(SHOP, EVENT, address=CAFE)
    assert (closed.status, closed.json["limit"]) == (429, 20)
    assert "website without an API key is 20 requests per minute" in closed.json["message"]
    assert collector.post(SHOP, EVENT, key="acme-shop", address=CAFE).status == 200
    assert collector.post(BLOG, EVENT, address=CAFE).status == 200


def test_a_server_with_a_key_does_not_limit_visitors(collector: InMemoryCollector) -> None:
    for _ in range(20):
        assert collector.post(SHOP, EVENT, key="acme", address=HOME).status == 200

    assert collector.post(SHOP, EVENT, key="acme", address=HOME).status == 429
    assert collector.post(SHOP, EVENT, address=HOME).status == 200


@pytest.mark.parametrize("body", [b"{", {"name": 7}, b'{"name":"a","websiteId":"solo"}'])
def test_invalid_requests_count_against_their_network_only(
    collector: InMemoryCollector, body: bytes | dict[str, int]
) -> None:
    collector.app.admission.charge_network("203.0.113.0", PUBLIC_GROUP_LIMIT.requests - 30)

    assert statuses(collector, 31, SHOP, body, HOME) == [400] * 30 + [429]

    assert statuses(collector, 2, BLOG, EVENT, HOME) == [429, 429]  # the network has to wait
    assert collector.post(SHOP, EVENT, key="acme", address=HOME).status == 200
    left = collector.post(SHOP, EVENT, address=OFFICE).headers["x-ratelimit-remaining"]
    assert left == "9"  # the website was charged nothing: 10 of 20 for each network


@pytest.mark.parametrize("path", ["/track", "/batch", "/events"])
def test_a_limited_network_is_refused_before_its_body_is_decoded(
    collector: InMemoryCollector, path: str
) -> None:
    """500 bad items in 22 KB take a collector some 5 ms; they count as 52 requests of 6,000."""
    bad = [{"name": 7, "eventName": 7, "type": "x"}] * 500
    collector.app.admission.charge_network("203.0.113.0", PUBLIC_GROUP_LIMIT.requests - 60)

    # of the 8 that the first one leaves the second takes all
    assert statuses(collector, 3, path, bad, HOME) == [400, 400, 429]
    refused = collector.post(path, b"not even JSON", address=HOME)
    assert (refused.status, refused.headers["x-ratelimit-limit"]) == (429, "6000")
    assert collector.post(path, bad, address=OFFICE).status == 400


def test_rejects_of_an_accepted_request_count_against_the_network(
    collector: InMemoryCollector,
) -> None:
    collector.app.admission.charge_network("203.0.113.0", PUBLIC_GROUP_LIMIT.requests - 60)
    one_good = [{"name": "good"}, *[{"name": 7}] * 499]

    # 499 rejected items cost 49 requests each time; of the 11 that are left the second takes all
    assert statuses(collector, 3, SHOP, one_good, HOME) == [200, 200, 429]


LARGE = [{"name": "a", "properties": {"text": "x" * 60_000}}] * 8
"""480 KB"""


def test_megabytes_are_limited_as_requests_are(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect_mib=2)

    assert statuses(collector, 3, SHOP, LARGE, HOME) == [200, 200, 429]
    refused = collector.post(SHOP, LARGE, address=HOME)
    assert "from one network is 1,048,576 bytes per minute" in refused.json["message"]
    assert (refused.json["remaining"], refused.headers["x-ratelimit-remaining"]) == (0, "0")
    assert collector.post(SHOP, LARGE, address=OFFICE).status == 200
    assert [collector.post(SHOP, LARGE, key="acme").status for _ in range(5)] == [200] * 4 + [429]


def test_compressed_bytes_count_decompressed(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect_mib=2)
    packed = gzip.compress(msgspec.json.encode(LARGE))
    assert len(packed) < 10_000

    replies = [collector.post(SHOP, packed, headers={"content-encoding": "gzip"}) for _ in range(3)]

    assert [reply.status for reply in replies] == [200, 200, 429]


FULL = [EVENT] * 500
"""6.5 KB: far from any limit of bytes"""


def test_a_flood_of_full_batches_is_limited_by_its_items(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect_items=2_000)

    assert statuses(collector, 3, SHOP, FULL, HOME) == [200, 200, 429]
    refused = collector.post(SHOP, FULL, address=HOME)
    assert "from one network is 1,000 items per minute" in refused.json["message"]
    assert collector.post(SHOP, FULL, address=OFFICE).status == 200  # another network
    assert collector.post(BLOG, FULL, address=HOME).status == 200  # another website
    assert [collector.post(SHOP, FULL, key="acme").status for _ in range(5)] == [200] * 4 + [429]
    message = collector.post(SHOP, EVENT, key="acme").json["message"]
    assert "the organization's API keys (collect) is 2,000 items per minute" in message


def test_items_of_several_kinds_count_together(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect_items=1_000)
    track = {"type": "custom", "name": "a"}
    link = {"type": "outgoing_link", "eventId": "e", "href": "https://x.example/", "text": "X"}
    body = [track] * 10 + [link] * 10

    assert statuses(collector, 26, "/batch?website_id=shop", body, HOME) == [200] * 25 + [429]


def test_only_accepted_items_count(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect_items=40)
    one_good = [EVENT, *[{"name": 7}] * 99]

    assert statuses(collector, 10, SHOP, one_good, HOME) == [200] * 10


def test_the_items_of_a_minute_may_not_be_sent_at_once(
    collector: InMemoryCollector,
) -> None:
    """On the free plan 5,000 of one network within five seconds, and 10,000 of a website."""
    collector.set_limits("acme")

    assert statuses(collector, 11, SHOP, FULL, HOME) == [200] * 10 + [429]
    refused = collector.post(SHOP, EVENT, address=HOME)
    assert "from one network is 5,000 items within 5 seconds" in refused.json["message"]
    assert refused.json["retryAfter"] == 5
    assert statuses(collector, 11, SHOP, FULL, OFFICE) == [200] * 10 + [429]
    assert [collector.post(SHOP, FULL, key="acme").status for _ in range(21)] == [200] * 20 + [429]


def test_batches_that_do_not_fit_are_not_decoded_for_ever(collector: InMemoryCollector) -> None:
    """900 items fit; each 500 that are decoded and do not fit cost 50 requests of the network."""
    collector.set_limits("acme", collect_items=2_000)
    collector.app.admission.charge_network("203.0.113.0", PUBLIC_GROUP_LIMIT.requests - 80)
    assert collector.post(SHOP, FULL[:400], address=HOME).status == 200
    assert collector.post(SHOP, FULL, address=HOME).status == 200

    assert statuses(collector, 3, SHOP, FULL, HOME) == [429] * 3
    assert collector.post(BLOG, EVENT, address=HOME).status == 429


@pytest.mark.parametrize(
    ("packed", "status", "requests"),
    [
        (b"no gzip at all", 400, 1),
        (gzip.compress(b"x" * 3_000, mtime=0)[:-4], 400, 1),
        (gzip.compress(b" " * 327_680)[:-4], 400, 1 + 20),  # 320 KiB were unpacked
        (gzip.compress(b" " * 9_000_000), 413, 1 + 68),  # 1 MiB and one step more
    ],
)
def test_a_body_that_cannot_be_decompressed_counts_what_was_decompressed(
    collector: InMemoryCollector, packed: bytes, status: int, requests: int
) -> None:
    reply = collector.post(SHOP, packed, address=HOME, headers={"content-encoding": "gzip"})

    assert reply.status == status
    assert int(reply.headers["x-ratelimit-remaining"]) == PUBLIC_GROUP_LIMIT.requests - requests


def test_bodies_that_do_not_fit_are_not_decoded_for_ever(collector: InMemoryCollector) -> None:
    """What is decoded and does not fit counts as 30 requests of the network's 6,000."""
    collector.set_limits("acme", collect_mib=1)
    collector.app.admission.charge_network("203.0.113.0", PUBLIC_GROUP_LIMIT.requests - 45)

    assert statuses(collector, 4, SHOP, LARGE, HOME) == [200, 429, 429, 429]
    assert collector.post(BLOG, b"not even JSON", address=HOME).status == 429


def test_one_network_cannot_use_up_the_redirects_of_an_organization(
    collector: InMemoryCollector,
) -> None:
    def follow(address: str) -> int:
        return request_once(collector.app, "GET", "/l/spring", address=address).status

    assert [follow(HOME) for _ in range(11)] == [302] * 10 + [429]
    assert follow(OFFICE) == 302


def test_a_network_that_guesses_slugs_can_still_follow_a_link(collector: InMemoryCollector) -> None:
    collector.app.admission.charge_network("203.0.113.0", PUBLIC_GROUP_LIMIT.requests)

    assert request_once(collector.app, "GET", "/l/nothing", address=HOME).status == 429
    assert request_once(collector.app, "GET", "/l/spring", address=HOME).status == 302
