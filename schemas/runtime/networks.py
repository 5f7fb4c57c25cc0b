"""(new) IP networks: parse a CIDR list, parse an address, test membership."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Networks = Sequence[IPv4Network | IPv6Network]


def parse_networks(text: str) -> Networks:
    """The networks of a comma-separated setting; ValueError names the invalid one."""
    return [ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip()]


def in_networks(text: str, networks: Networks) -> bool:
    """Whether an address is in one of the networks."""
    address = parse_ip(text)
    return address is not None and any(address in network for network in networks)


@lru_cache(maxsize=65_536)
def parse_ip(text: str) -> IPv4Address | IPv6Address | None:
    """The address, or None; an IPv4 address that is mapped into IPv6 becomes IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
