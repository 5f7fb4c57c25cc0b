"""Client IP behind trusted proxies (X-Forwarded-For or a CDN's header), and its truncation."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_network

from schemas.runtime.networks import Networks, in_networks, parse_ip


def parse_header_names(text: str) -> Sequence[bytes]:
    """The header names of a comma-separated setting."""
    return [part.strip().lower().encode() for part in text.split(",") if part.strip()]


def client_ip(
    peer: str, forwarded: str | None, trusted: Networks, single: str | None = None
) -> str:
    """The last address of X-Forwarded-For that is not a trusted proxy's; else the peer's.

    `single` is a header with the address of the client alone, and goes first. Both are read from
    trusted proxies only.
    """
    if not (forwarded or single) or not trusted or not in_networks(peer, trusted):
        return peer
    if single and parse_ip(address := strip_port(single.strip())):
        return address
    if not forwarded:
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
def truncate_ip(text: str) -> str:
    """The first address of the /24 or /48; empty when the text is not an address."""
    address = parse_ip(text)
    if address is None:
        return ""
    return str(ip_network((address, 24 if address.version == 4 else 48), strict=False)[0])
