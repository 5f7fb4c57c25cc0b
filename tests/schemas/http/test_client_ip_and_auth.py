"""What both services wear: allowances, addresses, keys."""

import pytest

from schemas.http.auth import read_api_key
from schemas.http.client_ip import client_ip, parse_networks, truncate_ip
from schemas.http.health import remembered
from schemas.http.rate_limit_headers import RateLimitStatus, rate_limit_error


def test_the_headers_are_whole_seconds() -> None:
    assert RateLimitStatus(5, 4, 1_060_001).headers() == [
        (b"x-ratelimit-limit", b"5"),
        (b"x-ratelimit-remaining", b"4"),
        (b"x-ratelimit-reset", b"1061"),
    ]


def test_a_refusal_says_when_to_come_back() -> None:
    failure = rate_limit_error(RateLimitStatus(5, -1, 1_060_000), 1_030_500)

    assert failure.details == {
        "limit": 5,
        "remaining": 0,
        "reset": "1970-01-01T00:17:40.000Z",
        "retryAfter": 30,
    }


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("203.0.113.77", "203.0.113.0"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("::ffff:203.0.113.77", "203.0.113.0"),
        ("fe80::1%eth0", "fe80::"),
        ("not an address", ""),
        ("", ""),
    ],
)
def test_an_address_is_cut_before_it_is_kept(address: str, kept: str) -> None:
    assert truncate_ip(address) == kept


def test_only_a_trusted_proxy_is_believed() -> None:
    trusted = parse_networks("10.0.0.0/8, 127.0.0.1")

    assert client_ip("10.1.1.1", "198.51.100.7, 10.2.2.2", trusted) == "198.51.100.7"
    assert client_ip("192.0.2.1", "198.51.100.7", trusted) == "192.0.2.1"
    assert client_ip("10.1.1.1", None, trusted) == "10.1.1.1"
    assert client_ip("10.1.1.1", "1.1.1.1, 198.51.100.7", trusted) == "198.51.100.7"
    assert client_ip("::ffff:10.1.1.1", "198.51.100.7", trusted) == "198.51.100.7"


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("198.51.100.7:4711", "198.51.100.7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("6.6.6.6, 198.51.100.7:1, 10.0.0.2:443, ", "198.51.100.7"),
        ("10.0.0.3:80", "10.0.0.1"),
        (", ,", "10.0.0.1"),
        ("198.51.100.7, unknown", "10.0.0.1"),
        ("198.51.100.7, <script>, 10.0.0.2", "10.0.0.1"),
    ],
)
def test_an_address_is_found_however_a_proxy_writes_it(forwarded: str, address: str) -> None:
    assert client_ip("10.0.0.1", forwarded, parse_networks("10.0.0.0/8")) == address


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"x-api-key": "tm_a_b"}, "tm_a_b"),
        ({"authorization": "Bearer tm_a_b"}, "tm_a_b"),
        ({"authorization": "bearer  tm_a_b "}, "tm_a_b"),
        ({"authorization": "Basic dXNlcg=="}, None),
        ({"authorization": "Bearer"}, None),
        ({}, None),
    ],
)
def test_a_key_is_found_in_either_header(headers: dict[str, str], text: str | None) -> None:
    assert read_api_key(headers.get) == text


def test_a_flood_of_health_checks_reads_files_once_a_second() -> None:
    now, looks = [100.0], [0]

    def look() -> str:
        looks[0] += 1
        return f"look {looks[0]}"

    check = remembered(look, clock=lambda: now[0])

    said = []
    for second in (0, 0, 0.9, 1.0, 1.1, 5.0):
        now[0] = 100 + second
        said.append(check())

    assert said == ["look 1", "look 1", "look 1", "look 2", "look 2", "look 3"]
