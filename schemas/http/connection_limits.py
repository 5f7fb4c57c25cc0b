"""Connection limits per server and client network, and one timeout sweep a second.

There is no timer per connection: each stores since when it has been in its state, and one sweep a
second checks all of them. So a request costs no timer, and timeouts are exact to a second.
"""

import asyncio
from collections import Counter

from msgspec import Struct

from schemas.http.client_ip import truncate_ip
from schemas.http.drain import Drain
from schemas.http.error_bodies import ErrorShape
from schemas.http.eviction import Connection, NetworkGroups
from schemas.http.pipelining import PipelineScheduler
from schemas.runtime.networks import Networks, in_networks, parse_ip


class ConnectionLimits(Struct, frozen=True):
    """Limits of one connection, and of their number."""

    head_bytes: int = 16 * 1024
    head_fields: int = 100
    head_seconds: float = 10.0
    """Timeout of a head, and of the first request on a connection."""
    body_seconds: float = 20.0
    """Timeout of a body; endpoints may have a shorter one."""
    unfinished_bytes: int = 128 * 1024 * 1024
    """Bytes of incomplete bodies on all connections; one client address may have a quarter."""
    framing_bytes: int = 8 * 1024
    """Bytes of chunk extensions and trailers without content between them."""
    pipelined: int = 32
    """Requests that may wait on one connection before parsing stops."""
    keep_alive_seconds: float = 75.0
    crowded_seconds: float = 5.0
    """Replaces `head_seconds` and `keep_alive_seconds` on a server that is more than half full."""
    stalled_seconds: float = 30.0
    """Timeout of a client that does not read its response."""
    linger_seconds: float = 5.0
    """Seconds for which input of a rejected client is discarded."""
    drained_bytes: int = 4 * 1024 * 1024
    """Bytes that are discarded; beyond them nothing is read until the connection closes."""
    probe_seconds: float = 1.0
    """Seconds after which a half-closed client gets an interim response, to detect a dead one."""
    sweep_seconds: float = 1.0
    connections: int = 8_192
    address_connections: int = 1_024
    """Maximum per client address; a /24 may have this or a quarter of all, whichever is more."""
    lingering: int = 128
    """Rejected or evicted connections, beside the others, that may still read their response."""


class OpenConnections:
    """All open connections of one server."""

    def __init__(
        self,
        limits: ConnectionLimits,
        shape: ErrorShape,
        trusted: Networks = (),
        drain: Drain | None = None,
    ) -> None:
        self.limits = limits
        self.drain = drain or Drain()
        """Once it has begun, every response closes its connection."""
        self.error_shape = shape
        """Shape of error bodies."""
        self.pipelines = PipelineScheduler()
        self.now = 0.0
        """Time of the event loop, as of the last sweep."""
        self._trusted = trusted
        self._open: dict[Connection, str] = {}
        self._by_address: Counter[str] = Counter()
        self._groups = NetworkGroups()
        self._lingering: dict[Connection, None] = {}
        self.unfinished_bytes = 0
        self._unfinished_by_address: Counter[str] = Counter()
        self._sweeping = False

    def admit(self, connection: Connection, peer: str) -> bool:
        """Whether the connection is accepted; a full server evicts another one for it."""
        if not self._sweeping:
            self._sweeping, self.now = True, asyncio.get_running_loop().time()
            asyncio.get_running_loop().call_later(self.limits.sweep_seconds, self._sweep)
        address = "" if self._trusted and in_networks(peer, self._trusted) else client_network(peer)
        if self._usage_ratio(address) >= 1 or not (self._has_room() or self._evict()):
            return False
        self._open[connection] = address
        self._by_address[address] += 1
        self._groups.add(connection, _network_of(address))
        return True

    def linger(self, connection: Connection) -> None:
        """Let a rejected client read its response; beyond the limit the oldest is closed."""
        self._lingering[connection] = None
        if len(self._lingering) > self.limits.lingering:
            oldest = next(iter(self._lingering))
            del self._lingering[oldest]
            oldest.terminate()

    def remove(self, connection: Connection) -> None:
        """Remove a connection, if it was accepted."""
        self._lingering.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        self._groups.remove(connection, _network_of(address))

    def hold_body(self, connection: Connection, size: int) -> bool:
        """Count bytes of an incomplete body; whether they are within the limits."""
        address, max_bytes = self._open.get(connection, ""), self.limits.unfinished_bytes
        self.unfinished_bytes += size
        self._unfinished_by_address[address] += size
        alone = bool(address) and self._unfinished_by_address[address] > max_bytes / 4
        return not alone and self.unfinished_bytes <= max_bytes

    def release_body(self, connection: Connection, size: int) -> None:
        """Subtract bytes of a body that is complete or dropped."""
        address = self._open.get(connection, "")
        self.unfinished_bytes -= size
        self._unfinished_by_address[address] -= size
        if not self._unfinished_by_address[address]:
            del self._unfinished_by_address[address]

    def _has_room(self) -> bool:
        return len(self._open) < self.limits.connections

    def _evict(self) -> bool:
        """Evict a connection; False if all are being served."""
        chosen = self._groups.candidate()
        if chosen is None:
            return False
        chosen.evict()
        self.remove(chosen)
        self.linger(chosen)
        return True

    def _usage_ratio(self, address: str) -> float:
        """Used part of the limits of one client; 0 for trusted proxies, which are exempt."""
        if not address:
            return 0.0
        max_connections = self.limits.address_connections
        max_of_network = max(max_connections, self.limits.connections // 4)
        return max(
            self._by_address[address] / max_connections,
            self._groups.size(_network_of(address)) / max_of_network,
        )

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self.now = loop.time()
        crowded = len(self._open) > self.limits.connections / 2
        if not self._has_room():
            self._groups.sort()
        for connection, address in list(self._open.items()):
            connection.check_timeouts(self.now, crowded or self._usage_ratio(address) > 0.5)
        for connection in list(self._lingering):
            connection.check_timeouts(self.now, True)
        self._sweeping = bool(self._open or self._lingering)
        if self._sweeping:
            loop.call_later(self.limits.sweep_seconds, self._sweep)


def client_network(peer: str) -> str:
    """The unit that counts as one client address: an IPv4 address, or the /48 of an IPv6 one."""
    address = parse_ip(peer)
    if address is None:
        return peer
    return str(address) if address.version == 4 else truncate_ip(peer)


def _network_of(address: str) -> str:
    """The /24 or /48 of a client address."""
    return truncate_ip(address) or address
