"""What a worker knows of the rows before a batch, and how it stays exactly what the table says.

For each topic partition memory holds what can be known from the rows that the table has of it, up
to a next offset. When that is not the table's next offset, or when a batch goes further back than
memory does, memory is read from the table again. So nobody has to tell it of rebalances, replays or
commits whose end is not known: whatever happened, it is either exact or read anew.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

from msgspec import Struct

from stream.storage.delta_commit import OffsetUpdate

log = logging.getLogger(__name__)

State = TypeVar("State")

Scan = Callable[[Collection[int], int], Mapping[int, State]]
"""What the rows of these topic partitions teach that were received in this stretch or later."""


class PartitionSnapshot(Struct, Generic[State]):
    """What is known of one topic partition."""

    next: int
    """The rows below this offset are known."""
    since: int
    """Of these, all that were received in this stretch of time or later."""
    state: State


class PartitionStates(Generic[State]):
    """The pasts of the topic partitions that a worker holds."""

    def __init__(self, name: str) -> None:
        self.files_scanned = 0
        """How many were read back so far; who watches sees that it goes on."""
        self._name = name
        self._assigned: frozenset[int] = frozenset()
        """Read together, because each part of the table holds rows of all."""
        self._snapshots: Mapping[int, PartitionSnapshot[State]] = {}
        """Always replaced as a whole: `hold` comes from another thread."""

    def assign(self, partitions: frozenset[int]) -> None:
        """These were assigned; what is known of others goes."""
        self._assigned = partitions
        self._snapshots = {p: past for p, past in self._snapshots.items() if p in partitions}

    def get(
        self, sinces: Mapping[int, int], next_of: Callable[[int], int], read: Scan[State]
    ) -> Mapping[int, State]:
        """What is known of these topic partitions; `sinces` says how far back it has to go."""
        pasts = self._snapshots
        if not all(is_current(pasts.get(p), next_of(p), since) for p, since in sinces.items()):
            self._snapshots = pasts = self._rebuild(sinces, next_of, read)
        return {partition: pasts[partition].state for partition in sinces}

    def advance(self, moves: Mapping[int, OffsetUpdate]) -> None:
        """A batch was committed, and what it teaches has been added."""
        for partition, move in moves.items():
            past = self._snapshots.get(partition)
            if past and past.next == move.expected:
                past.next = move.next

    def expire(self, partition: int, since: int, drop: Callable[[State, int], None]) -> None:
        """Rows received before this are not asked for any more."""
        past = self._snapshots.get(partition)
        if past and since > past.since:
            drop(past.state, since)
            past.since = since

    def cached(self, partitions: Collection[int]) -> Mapping[int, State]:
        """What is known of these, where something is."""
        pasts = self._snapshots
        return {p: pasts[p].state for p in partitions if p in pasts}

    def all_states(self) -> Collection[State]:
        """All that is known."""
        return [past.state for past in self._snapshots.values()]

    def _rebuild(
        self, sinces: Mapping[int, int], next_of: Callable[[int], int], read: Scan[State]
    ) -> Mapping[int, PartitionSnapshot[State]]:
        begun = time.monotonic()
        since = min(sinces.values())
        asked = self._assigned | set(sinces)
        good = {
            p: past
            for p, past in self._snapshots.items()
            if p in asked and is_current(past, next_of(p), sinces.get(p, since))
        }
        stale = sorted(asked - set(good))
        self._snapshots = good  # what is stale is not kept while it is read anew
        found = read(stale, since)
        log.info(
            "read back",
            extra={
                "what": self._name,
                "partitions": len(stale),
                "seconds": round(time.monotonic() - begun, 2),
            },
        )
        return {
            **good,
            **{p: PartitionSnapshot(next_of(p), since, what) for p, what in found.items()},
        }


def is_current(past: PartitionSnapshot[State] | None, next_: int, since: int) -> bool:
    """Whether nothing is missing in it."""
    return past is not None and past.next == next_ and past.since <= since
