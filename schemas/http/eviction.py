"""Eviction: chooses the connection to close for a new one when the server is full.

Connections are grouped by client network, and networks by how many they hold, so that the largest
is known without looking at all. What an eviction costs is bounded; a request costs nothing.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

SAMPLE_SIZE = 64
"""Connections of one network that are compared."""
MAX_SAMPLED = 256
"""Connections that are looked at for one newcomer; the next one begins with others."""


class Connection(Protocol):
    """What the server asks of a connection."""

    since: float
    """When the present stage began; when the last answer was complete."""

    def check_timeouts(self, now: float, crowded: bool) -> None:
        """Close the connection when it has been idle, or stalled, for too long."""

    def is_responding(self) -> bool:
        """Whether a request that is here whole is being answered."""

    def evict(self) -> None:
        """Refuse what has come in part, or close what is idle."""

    def terminate(self) -> None:
        """Close without waiting for the client."""


class NetworkGroups:
    """Connections by client network; the longest unfinished ones first, as of the last `sort`.

    The network "" is that of trusted proxies: its connections give way last.
    """

    def __init__(self) -> None:
        self._members: dict[str, dict[Connection, None]] = {}
        self._by_size: dict[int, dict[str, None]] = {}

    def size(self, network: str) -> int:
        """How many connections a network holds."""
        return len(self._members.get(network, ()))

    def add(self, connection: Connection, network: str) -> None:
        """One connection more."""
        members = self._members.setdefault(network, {})
        members[connection] = None
        self._resize(network, len(members) - 1, len(members))

    def remove(self, connection: Connection, network: str) -> None:
        """One connection less."""
        members = self._members[network]
        del members[connection]
        self._resize(network, len(members) + 1, len(members))
        if not members:
            del self._members[network]

    def candidate(self) -> Connection | None:
        """The longest unfinished of the largest network that has one; None if all are answered."""
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
        """Put the longest unfinished first."""
        for network, members in self._members.items():
            self._members[network] = dict.fromkeys(sorted(members, key=_rank))

    def _largest_first(self) -> Iterator[tuple[int, str]]:
        """Sizes are few, even if networks are many: n connections have less than √2n sizes."""
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
