"""Client IP behind trusted proxies (X-Forwarded-For or a CDN's header), and its truncation.

Behind a proxy that `TIDEMARK_TRUSTED_PROXIES` does not list all visitors have its address: those
with the same browser are one visitor. `UntrustedProxies` notices such a proxy, which may be the
peer, or stand before a trusted proxy, whose `X-Forwarded-For` then ends in its address. Only
private and loopback addresses are noticed: any other client can send these headers itself.
"""

import logging
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_network

from starlette.types import Scope

from schemas.http.asgi import headers_by_name
from schemas.runtime.clock import Clock
from schemas.runtime.networks import Networks, in_networks, parse_ip, parse_networks


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


log = logging.getLogger(__name__)

FORWARDING_HEADERS = (b"x-forwarded-for", b"forwarded", b"x-real-ip")
REPORT_MS = 3_600_000
"""How long a network is reported after its last request, and logged at most once."""
MAX_NETWORKS = 100
MAX_PROXIES = 3
"""Private addresses behind a trusted proxy that may be proxies; more are visitors of a network."""
PRIVATE = parse_networks(
    "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8, 100.64.0.0/10, 169.254.0.0/16, "
    "fc00::/7, fe80::/10, ::1"
)

CONSEQUENCE = (
    "requests from {} have {}, but TIDEMARK_TRUSTED_PROXIES does not list it: "
    "all visitors behind this proxy count as one client"
)
NO_CLIENT = (
    "requests through the proxy {} name no client, only proxies of TIDEMARK_TRUSTED_PROXIES: the "
    "proxy before it sends no X-Forwarded-For, or {} replaces it; all visitors behind it count as "
    "one client"
)
PRIVATE_CLIENT = (
    "requests through the proxy {} are from {}, a private address: if that is another proxy, "
    "TIDEMARK_TRUSTED_PROXIES must list it too; else all visitors behind it count as one client"
)


class UntrustedProxies:
    """The networks of proxies that are not trusted."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged_ms: dict[str, int] = {}
        self._seen_ms = 0
        self._message: str | None = None
        self._private_clients: set[str] = set()

    @property
    def problem(self) -> str | None:
        """The proxy that was noticed last; None without one within the hour."""
        return self._message if self._clock() - self._seen_ms < REPORT_MS else None

    def notice(self, scope: Scope, peer: str) -> None:
        """Note a request of an untrusted peer, if its headers and address are a proxy's."""
        headers = headers_by_name(scope)
        if headers.keys().isdisjoint(FORWARDING_HEADERS) or not is_private(peer):
            return
        name = next(name for name in FORWARDING_HEADERS if name in headers)
        self._report(peer, CONSEQUENCE.format(peer, name.decode()))

    def notice_client(self, scope: Scope, peer: str, address: str) -> None:
        """Note a request through a trusted proxy, if the address of its client is a proxy's."""
        if address == peer:
            if not headers_by_name(scope).keys().isdisjoint(FORWARDING_HEADERS):
                self._report(peer, NO_CLIENT.format(peer, peer))
        elif is_private(address) and len(self._private_clients) <= MAX_PROXIES:
            self._private_clients.add(address)
            if len(self._private_clients) <= MAX_PROXIES:
                self._report(address, PRIVATE_CLIENT.format(peer, address))
            else:
                self._message = None

    def _report(self, proxy: str, message: str) -> None:
        network, now = truncate_ip(proxy), self._clock()
        self._message, self._seen_ms = message, now
        if now - self._logged_ms.get(network, -REPORT_MS) < REPORT_MS:
            return
        if len(self._logged_ms) >= MAX_NETWORKS:
            self._logged_ms.clear()
        self._logged_ms[network] = now
        log.warning("untrusted proxy", extra={"proxy": network, "problem": message})


@lru_cache(maxsize=4096)
def is_private(text: str) -> bool:
    """Whether an address is a private, shared or loopback one."""
    return in_networks(text, PRIVATE)
