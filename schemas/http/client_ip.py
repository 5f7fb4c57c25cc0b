"""Client addresses: which one is real behind proxies, and the cut form that may be kept."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Networks = Sequence[IPv4Network | IPv6Network]


def parse_networks(text: str) -> Networks:
    """The networks of a comma-separated setting; ValueError names the wrong one."""
    return [ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip()]


def parse_header_names(text: str) -> Sequence[bytes]:
    """The headers of a comma-separated setting."""
    return [part.strip().lower().encode() for part in text.split(",") if part.strip()]


def client_ip(peer: str, forwarded: str | None, trusted: Networks) -> str:
    """The nearest address that no trusted proxy speaks for; the peer's where a hop is none."""
    if not forwarded or not trusted or not in_networks(peer, trusted):
        return peer
    hops = [strip_port(part.strip()) for part in forwarded.split(",")]
    for hop in reversed(list(filter(None, hops))):
        if not in_networks(hop, trusted):
            return hop if parse_ip(hop) else peer
    return peer


def strip_port(hop: str) -> str:
    """An address of `X-Forwarded-For` without brackets and port."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    host, _, port = hop.partition(":")
    return hop if ":" in port else host


@lru_cache(maxsize=65_536)
def truncate_ip(address: str) -> str:
    """The first address of its /24 or /48; empty when it is none."""
    found = parse_ip(address)
    if found is None:
        return ""
    return str(ip_network((found, 24 if found.version == 4 else 48), strict=False)[0])


def in_networks(address: str, trusted: Networks) -> bool:
    """Whether an address lies in one of the networks."""
    found = parse_ip(address)
    return found is not None and any(found in network for network in trusted)


@lru_cache(maxsize=65_536)
def parse_ip(address: str) -> IPv4Address | IPv6Address | None:
    """An address; IPv4 when it is only written as IPv6."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
