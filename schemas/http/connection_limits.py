"""Connection limits per server and client network, and one timeout sweep a second.

There is no timer per connection: each stores since when it has been in its state, and one sweep a
second checks all of them. So a request costs no timer, and timeouts are exact to a second.

A full server evicts a connection for a new one. Connections are grouped by client network, and
networks by size, so the largest is known at once: the cost of an eviction is bounded.

Pipelined requests of all connections start in turn (fair queueing). A browser has one request on a
connection; a client that pipelines on many would occupy the event loop and Python's lock.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from msgspec import Struct

from schemas.http.client_ip import truncate_ip
from schemas.http.error_bodies import ErrorShape
from schemas.http.health import Drain
from schemas.runtime.networks import Networks, in_networks, parse_ip

SAMPLE_SIZE = 64
"""Connections of one network that are compared."""
MAX_SAMPLED = 256
"""Connections that are compared for one eviction; the next eviction starts with others."""


class Connection(Protocol):
    """A connection, as the server sees it."""

    since: float
    """When the current stage began, or the last response was complete."""

    def check_timeouts(self, now: float, crowded: bool) -> None:
        """Close the connection when it has been idle, or stalled, for too long."""

    def is_responding(self) -> bool:
        """Whether a complete request is being served."""

    def evict(self) -> None:
        """Reject an incomplete request, or close an idle connection."""

    def terminate(self) -> None:
        """Close without waiting for the client."""


class NetworkGroups:
    """Connections by client network; those that wait longest come first, as of the last `sort`.

    The network "" stands for trusted proxies, whose connections are evicted last.
    """

    def __init__(self) -> None:
        self._members: dict[str, dict[Connection, None]] = {}
        self._by_size: dict[int, dict[str, None]] = {}

    def size(self, network: str) -> int:
        """Number of connections of a network."""
        return len(self._members.get(network, ()))

    def add(self, connection: Connection, network: str) -> None:
        """Add a connection."""
        members = self._members.setdefault(network, {})
        members[connection] = None
        self._resize(network, len(members) - 1, len(members))

    def remove(self, connection: Connection, network: str) -> None:
        """Remove a connection."""
        members = self._members[network]
        del members[connection]
        self._resize(network, len(members) + 1, len(members))
        if not members:
            del self._members[network]

    def candidate(self) -> Connection | None:
        """The connection to evict: of the largest network, the one that waits longest; or None."""
        remaining = MAX_SAMPLED
        for size, network in self._largest_first():
            members = self._members[network]
            sample = list(islice(members, min(SAMPLE_SIZE, remaining)))
            unfinished = [connection for connection in sample if not connection.is_responding()]
            if unfinished:
                return min(unfinished, key=_since)
            for connection in sample:
                del members[connection]
                members[connection] = None
            if network:
                self._resize(network, size, size)
            remaining -= len(sample)
            if not remaining:
                break
        return None

    def sort(self) -> None:
        """Sort each network: connections that wait longest first."""
        for network, members in self._members.items():
            self._members[network] = dict.fromkeys(sorted(members, key=_rank))

    def _largest_first(self) -> Iterator[tuple[int, str]]:
        """Networks by size; n connections have fewer than √2n different sizes."""
        for size in sorted(self._by_size, reverse=True):
            for network in list(islice(self._by_size[size], MAX_SAMPLED)):
                yield size, network
        if "" in self._members:
            yield len(self._members[""]), ""

    def _resize(self, network: str, before: int, after: int) -> None:
        if not network:
            return
        if before:
            same = self._by_size[before]
            del same[network]
            if not same:
                del self._by_size[before]
        if after:
            self._by_size.setdefault(after, {})[network] = None


def _since(connection: Connection) -> float:
    return connection.since


def _rank(connection: Connection) -> tuple[bool, float]:
    return connection.is_responding(), connection.since


STARTS = 4
PAUSE_SECONDS = 0.002
"""Pipelined requests that start per pause. The event loop sleeps in between, so that threads that
wait for Python's lock can run."""


class Pipelined(Protocol):
    """A connection with pipelined requests."""

    def begin_next(self) -> None:
        """Start the next request, if one waits."""


class PipelineScheduler:
    """Starts pipelined requests of all connections of a server in turn."""

    def __init__(self) -> None:
        self._waiting: deque[Pipelined] = deque()
        self._last_started = 0
        self._since = 0.0
        self._started = 0

    def start_or_queue(self, connection: Pipelined) -> None:
        """Start the next request of the connection now or later."""
        if self._waiting:
            self._waiting.append(connection)
        elif id(connection) == self._last_started or self._may_start():
            self._last_started = id(connection)
            connection.begin_next()
        else:
            self._waiting.append(connection)
            self._schedule()

    def _may_start(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._since >= PAUSE_SECONDS:
            self._since, self._started = now, 0
        self._started += 1
        return self._started <= STARTS

    def _schedule(self) -> None:
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._start_queued)

    def _start_queued(self) -> None:
        self._since = asyncio.get_running_loop().time()
        self._started, self._last_started = STARTS, 0
        # All are dequeued before any starts: a connection with more requests goes to the end.
        batch = [self._waiting.popleft() for _ in range(min(STARTS, len(self._waiting)))]
        if self._waiting:
            self._schedule()
        for connection in batch:
            connection.begin_next()


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
