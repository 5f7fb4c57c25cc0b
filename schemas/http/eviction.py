"""Eviction: chooses the connection to close for a new one when the server is full.

Connections are grouped by client network, and networks by size, so the largest is known at once.
The cost of an eviction is bounded; requests cost nothing.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

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
