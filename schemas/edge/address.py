"""Client addresses: which one is real behind proxies, and the cut form that may be kept."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

Networks = Sequence[IPv4Network | IPv6Network]


def networks(text: str) -> Networks:
    """The networks of a comma-separated setting; ValueError names the wrong one."""
    return [ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip()]


def header_names(text: str) -> Sequence[bytes]:
    """The headers of a comma-separated setting."""
    return [part.strip().lower().encode() for part in text.split(",") if part.strip()]


def client_address(peer: str, forwarded: str | None, trusted: Networks) -> str:
    """The nearest address that no trusted proxy speaks for."""
    if not forwarded or not trusted or not within(peer, trusted):
        return peer
    for hop in reversed([part.strip() for part in forwarded.split(",")]):
        if not within(hop, trusted):
            return hop
    return peer


@lru_cache(maxsize=65_536)
def cut(address: str) -> str:
    """The first address of its /24 or /48; empty when it is none."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    mapped = getattr(parsed, "ipv4_mapped", None)
    parsed = mapped or parsed
    return str(ip_network((parsed, 24 if parsed.version == 4 else 48), strict=False)[0])


def within(address: str, trusted: Networks) -> bool:
    """Whether an address lies in one of the networks."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in trusted)
