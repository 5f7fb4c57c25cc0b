"""Connection limits per server and client network, and one timeout sweep a second.

Timers are not kept per connection: each connection remembers since when it has been in its present
state, and one sweep a second asks all of them whether that is too long. A request then costs no
timer, and nobody waits more than a second longer than said.
"""

import asyncio
from collections import Counter

from msgspec import Struct

from schemas.http.client_ip import truncate_ip
from schemas.http.error_bodies import ErrorShape
from schemas.http.eviction import Connection, NetworkGroups
from schemas.http.pipelining import PipelineScheduler
from schemas.runtime.networks import Networks, in_networks, parse_ip


class ConnectionLimits(Struct, frozen=True):
    """What one connection may cost, and how many there may be."""

    head_bytes: int = 16 * 1024
    head_fields: int = 100
    head_seconds: float = 10.0
    """For a head that has begun, and for the first one of a connection to begin."""
    body_seconds: float = 20.0
    """For a body, where its endpoint does not ask for it sooner."""
    unfinished_bytes: int = 128 * 1024 * 1024
    """Of bodies that have not come whole, on all connections; an address may have a quarter."""
    framing_bytes: int = 8 * 1024
    """Chunk extensions and trailers that may come without content between them."""
    pipelined: int = 32
    """Requests that may wait for their turn before no more of their connection are parsed."""
    keep_alive_seconds: float = 75.0
    crowded_seconds: float = 5.0
    """For both, when more than half of the connections are taken."""
    stalled_seconds: float = 30.0
    """For a client that takes nothing of its answer."""
    linger_seconds: float = 5.0
    """How long what a refused client still sends is read away."""
    drained_bytes: int = 4 * 1024 * 1024
    """How much of it; a client that has sent more waits for the end of the connection."""
    probe_seconds: float = 1.0
    """After which a client that closed its sending half is written to, to see if it is there."""
    sweep_seconds: float = 1.0
    connections: int = 8_192
    address_connections: int = 1_024
    """Of those; a network (IPv4: a /24) may have a quarter of all, or so many if that is more."""
    lingering: int = 128
    """Connections beside these that were refused or gave way, and may still read why."""


class OpenConnections:
    """All open connections of one server."""

    def __init__(self, limits: ConnectionLimits, shape: ErrorShape, trusted: Networks = ()) -> None:
        self.limits = limits
        self.error_shape = shape
        """Of the bodies of refusals."""
        self.turns = PipelineScheduler()
        self.now = 0.0
        """Time of the event loop, as of the last sweep."""
        self._trusted = trusted
        self._open: dict[Connection, str] = {}
        self._by_address: Counter[str] = Counter()
        self._groups = NetworkGroups()
        self._lingering: dict[Connection, None] = {}
        self._unfinished_bytes = 0
        self._unfinished_by_address: Counter[str] = Counter()
        self._sweeping = False

    def admit(self, connection: Connection, peer: str) -> bool:
        """Whether there is room for one more connection, also of that client; some is made."""
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
        """Let a refused client read why; who has had longest for it makes room."""
        self._lingering[connection] = None
        if len(self._lingering) > self.limits.lingering:
            eldest = next(iter(self._lingering))
            del self._lingering[eldest]
            eldest.terminate()

    def remove(self, connection: Connection) -> None:
        """Forget a connection; one that never entered is not missed."""
        self._lingering.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        self._groups.remove(connection, _network_of(address))

    def hold_body(self, connection: Connection, size: int) -> bool:
        """Whether so many bytes more of an unfinished body may be kept; they are counted anyway."""
        address, max_bytes = self._open.get(connection, ""), self.limits.unfinished_bytes
        self._unfinished_bytes += size
        self._unfinished_by_address[address] += size
        alone = bool(address) and self._unfinished_by_address[address] > max_bytes / 4
        return not alone and self._unfinished_bytes <= max_bytes

    def release_body(self, connection: Connection, size: int) -> None:
        """So many bytes are no longer kept, or no longer unfinished."""
        address = self._open.get(connection, "")
        self._unfinished_bytes -= size
        self._unfinished_by_address[address] -= size
        if not self._unfinished_by_address[address]:
            del self._unfinished_by_address[address]

    def _has_room(self) -> bool:
        return len(self._open) < self.limits.connections

    def _evict(self) -> bool:
        """Whether a connection gave way; not if all of them are being answered."""
        chosen = self._groups.candidate()
        if chosen is None:
            return False
        chosen.evict()
        self.remove(chosen)
        self.linger(chosen)
        return True

    def _usage_ratio(self, address: str) -> float:
        """The part of what one client may hold that it holds; trusted proxies may hold all."""
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
    """What counts as one address: an IPv4 address, or the /48 of an IPv6 client."""
    address = parse_ip(peer)
    if address is None:
        return peer
    return str(address) if address.version == 4 else truncate_ip(peer)


def _network_of(address: str) -> str:
    """The network of a client: a /24 or a /48."""
    return truncate_ip(address) or address
