"""UntrustedProxies: notices proxies that `TIDEMARK_TRUSTED_PROXIES` does not list.

Behind such a proxy all visitors have its address: those with the same browser are one visitor.
Only private and loopback peers are noticed: any other client can send these headers itself.
"""

import logging
from functools import lru_cache

from starlette.types import Scope

from schemas.http.asgi import headers_by_name
from schemas.http.client_ip import truncate_ip
from schemas.runtime.clock import Clock
from schemas.runtime.networks import parse_ip

log = logging.getLogger(__name__)

FORWARDING_HEADERS = (b"x-forwarded-for", b"forwarded", b"x-real-ip")
REPORT_MS = 3_600_000
"""How long a network is reported after its last request, and logged at most once."""
MAX_NETWORKS = 100

CONSEQUENCE = (
    "requests from {} have {}, but TIDEMARK_TRUSTED_PROXIES does not list it: "
    "all visitors behind this proxy count as one client"
)


class UntrustedProxies:
    """The networks of proxies that are not trusted."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged_ms: dict[str, int] = {}
        self._seen_ms = 0
        self._message: str | None = None

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
        network, now = truncate_ip(peer), self._clock()
        self._message, self._seen_ms = CONSEQUENCE.format(peer, name.decode()), now
        if now - self._logged_ms.get(network, -REPORT_MS) < REPORT_MS:
            return
        if len(self._logged_ms) >= MAX_NETWORKS:
            self._logged_ms.clear()
        self._logged_ms[network] = now
        log.warning("untrusted proxy", extra={"proxy": network, "problem": self._message})


@lru_cache(maxsize=4096)
def is_private(text: str) -> bool:
    """Whether an address is a private or loopback one."""
    address = parse_ip(text)
    return address is not None and (address.is_private or address.is_loopback)
