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

from stream.storage.delta_commit import Move

log = logging.getLogger(__name__)

What = TypeVar("What")

Read = Callable[[Collection[int], int], Mapping[int, What]]
"""What the rows of these topic partitions teach that were received in this stretch or later."""


class Past(Struct, Generic[What]):
    """What is known of one topic partition."""

    next: int
    """The rows below this offset are known."""
    since: int
    """Of these, all that were received in this stretch of time or later."""
    what: What


class Memory(Generic[What]):
    """The pasts of the topic partitions that a worker holds."""

    def __init__(self, name: str) -> None:
        self.pieces = 0
        """How many were read back so far; who watches sees that it goes on."""
        self._name = name
        self._held: frozenset[int] = frozenset()
        """Read together, because each part of the table holds rows of all."""
        self._pasts: Mapping[int, Past[What]] = {}
        """Always replaced as a whole: `hold` comes from another thread."""

    def hold(self, partitions: frozenset[int]) -> None:
        """These were assigned; what is known of others goes."""
        self._held = partitions
        self._pasts = {p: past for p, past in self._pasts.items() if p in partitions}

    def recall(
        self, sinces: Mapping[int, int], next_of: Callable[[int], int], read: Read[What]
    ) -> Mapping[int, What]:
        """What is known of these topic partitions; `sinces` says how far back it has to go."""
        pasts = self._pasts
        if not all(reaches(pasts.get(p), next_of(p), since) for p, since in sinces.items()):
            self._pasts = pasts = self._read_again(sinces, next_of, read)
        return {partition: pasts[partition].what for partition in sinces}

    def advance(self, moves: Mapping[int, Move]) -> None:
        """A batch was committed, and what it teaches has been added."""
        for partition, move in moves.items():
            past = self._pasts.get(partition)
            if past and past.next == move.expected:
                past.next = move.next

    def forget(self, partition: int, since: int, drop: Callable[[What, int], None]) -> None:
        """Rows received before this are not asked for any more."""
        past = self._pasts.get(partition)
        if past and since > past.since:
            drop(past.what, since)
            past.since = since

    def present(self, partitions: Collection[int]) -> Mapping[int, What]:
        """What is known of these, where something is."""
        pasts = self._pasts
        return {p: pasts[p].what for p in partitions if p in pasts}

    def known(self) -> Collection[What]:
        """All that is known."""
        return [past.what for past in self._pasts.values()]

    def _read_again(
        self, sinces: Mapping[int, int], next_of: Callable[[int], int], read: Read[What]
    ) -> Mapping[int, Past[What]]:
        begun = time.monotonic()
        since = min(sinces.values())
        asked = self._held | set(sinces)
        good = {
            p: past
            for p, past in self._pasts.items()
            if p in asked and reaches(past, next_of(p), sinces.get(p, since))
        }
        stale = sorted(asked - set(good))
        self._pasts = good  # what is stale is not kept while it is read anew
        found = read(stale, since)
        log.info(
            "read back",
            extra={
                "what": self._name,
                "partitions": len(stale),
                "seconds": round(time.monotonic() - begun, 2),
            },
        )
        return {**good, **{p: Past(next_of(p), since, what) for p, what in found.items()}}


def reaches(past: Past[What] | None, next_: int, since: int) -> bool:
    """Whether nothing is missing in it."""
    return past is not None and past.next == next_ and past.since <= since
