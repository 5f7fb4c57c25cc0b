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

from stream.commit import Move

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
        self.held: frozenset[int] = frozenset()
        """What was assigned; read together, because each part of the table holds rows of all."""
        self._name = name
        self._pasts: dict[int, Past[What]] = {}

    def recall(
        self, sinces: Mapping[int, int], next_of: Callable[[int], int], read: Read[What]
    ) -> Mapping[int, What]:
        """What is known of these topic partitions; `sinces` says how far back it has to go."""
        if not all(self._reaches(p, since, next_of) for p, since in sinces.items()):
            self._read_again(sinces, next_of, read)
        return {partition: self._pasts[partition].what for partition in sinces}

    def advance(self, moves: Mapping[int, Move]) -> None:
        """A batch was committed, and what it teaches has been added."""
        for partition, move in moves.items():
            past = self._pasts.get(partition)
            if past and past.next == move.expected:
                past.next = move.next

    def forget(self, partition: int, since: int, drop: Callable[[What, int], None]) -> None:
        """Rows received before this are not asked for any more."""
        past = self._pasts[partition]
        if since > past.since:
            drop(past.what, since)
            past.since = since

    def present(self, partitions: Collection[int]) -> Mapping[int, What]:
        """What is known of these, where something is."""
        return {p: self._pasts[p].what for p in partitions if p in self._pasts}

    def known(self) -> Collection[What]:
        """All that is known."""
        return [past.what for past in self._pasts.values()]

    def _reaches(self, partition: int, since: int, next_of: Callable[[int], int]) -> bool:
        past = self._pasts.get(partition)
        return past is not None and past.next == next_of(partition) and past.since <= since

    def _read_again(
        self, sinces: Mapping[int, int], next_of: Callable[[int], int], read: Read[What]
    ) -> None:
        begun = time.monotonic()
        since = min(sinces.values())
        asked = self.held | set(sinces)
        stale = [p for p in sorted(asked) if not self._reaches(p, sinces.get(p, since), next_of)]
        self._pasts = {p: past for p, past in self._pasts.items() if p in asked - set(stale)}
        for partition, what in read(stale, since).items():
            self._pasts[partition] = Past(next_of(partition), since, what)
        log.info(
            "read back",
            extra={
                "what": self._name,
                "partitions": len(stale),
                "seconds": round(time.monotonic() - begun, 2),
            },
        )
