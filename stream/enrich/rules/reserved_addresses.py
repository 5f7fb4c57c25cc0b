"""Reserved IP ranges that have no location: private, shared, documentation, multicast, tunnels.

Our own list, from IANA's special-purpose registries, because the result of `ipaddress` depends on
the version of Python for some ranges.
"""

from bisect import bisect_right
from ipaddress import ip_address, ip_network

IPV4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private
    "100.64.0.0/10",  # behind a carrier's NAT
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link-local
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # protocol assignments
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relays
    "192.168.0.0/16",  # private
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
)
IPV6 = (
    "::/3",  # unspecified, loopback, mapped IPv4, NAT64, discard: all before global unicast
    "2001::/23",  # Teredo, benchmarks, ORCHID
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4
    "3fff::/20",  # documentation
    "4000::/2",  # nothing of what follows is global unicast:
    "8000::/1",  # unique local, link-local, multicast
)


class NetworkRanges:
    """Networks in ascending order that do not overlap."""

    def __init__(self, listed: tuple[str, ...]) -> None:
        networks = [ip_network(text) for text in listed]
        self._first = [int(network[0]) for network in networks]
        self._last = [int(network[-1]) for network in networks]

    def contains(self, address: int) -> bool:
        index = bisect_right(self._first, address) - 1
        return index >= 0 and address <= self._last[index]


_ranges = {4: NetworkRanges(IPV4), 6: NetworkRanges(IPV6)}


def is_reserved(address: str) -> bool:
    """Whether an address has no location; also for text that is no address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return True
    return _ranges[parsed.version].contains(int(parsed))
