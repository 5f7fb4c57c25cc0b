"""The client IP behind trusted proxies, and its truncation."""

import pytest

from schemas.http.client_ip import client_ip, truncate_ip
from schemas.runtime.networks import parse_networks


@pytest.mark.parametrize(
    ("address", "truncated"),
    [
        ("203.0.113.77", "203.0.113.0"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("::ffff:203.0.113.77", "203.0.113.0"),
        ("fe80::1%eth0", "fe80::"),
        ("not an address", ""),
        ("", ""),
    ],
)
def test_an_address_is_truncated(address: str, truncated: str) -> None:
    assert truncate_ip(address) == truncated


def test_forwarded_addresses_are_used_from_trusted_proxies_only() -> None:
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
def test_forwarded_addresses_are_parsed_in_every_notation(forwarded: str, address: str) -> None:
    assert client_ip("10.0.0.1", forwarded, parse_networks("10.0.0.0/8")) == address


@pytest.mark.parametrize(
    ("peer", "single", "address"),
    [
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", " 2001:db8::7 ", "2001:db8::7"),
        ("10.0.0.1", "198.51.100.7, 6.6.6.6", "203.0.113.9"),  # sent twice: no single address
        ("10.0.0.1", "unknown", "203.0.113.9"),
        ("10.0.0.1", None, "203.0.113.9"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # no trusted proxy
    ],
)
def test_a_header_with_the_address_alone_goes_first(
    peer: str, single: str | None, address: str
) -> None:
    trusted = parse_networks("10.0.0.0/8")

    assert client_ip(peer, "203.0.113.9", trusted, single) == address


def test_the_client_is_found_behind_the_chain_of_the_compose_file() -> None:
    """A TLS proxy of the host, Docker's gateway, Caddy; and a TLS proxy of another machine."""
    network = "172.30.0.0/24"

    found = client_ip("172.30.0.9", "198.51.100.7, 172.30.0.1", parse_networks(f"{network},"))
    assert found == "198.51.100.7"
    chain = "6.6.6.6, 198.51.100.7, 10.0.0.5"  # the first is the client's own
    assert client_ip("172.30.0.9", chain, parse_networks(network)) == "10.0.0.5"
    trusted = parse_networks(f"{network}, 10.0.0.5")
    assert client_ip("172.30.0.9", chain, trusted) == "198.51.100.7"
