"""Per-partition state, rebuilt from the table when its offset differs.

The state of a topic partition is computed from the table's rows below a next offset. When that is
not the table's next offset, or when a batch needs older rows than the state covers, the state is
rebuilt from the table. So rebalances, replays and commits with an unknown outcome need no handling
of their own: the state is either exact or rebuilt.
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
"""Builds the state of these topic partitions from rows received in this bucket or later."""


class PartitionSnapshot(Struct, Generic[State]):
    """The state of one topic partition, and the rows that it covers."""

    next: int
    """It covers rows below this offset."""
    since: int
    """It covers rows received in this time bucket or later."""
    state: State


class PartitionStates(Generic[State]):
    """The states of the topic partitions that are assigned to a worker."""

    def __init__(self, name: str) -> None:
        self.files_scanned = 0
        """How many data files were scanned so far; the progress check reads it."""
        self._name = name
        self._assigned: frozenset[int] = frozenset()
        """Rebuilt together, because each data file holds rows of all."""
        self._snapshots: Mapping[int, PartitionSnapshot[State]] = {}
        """Always replaced as a whole: `assign` is called from another thread."""

    def assign(self, partitions: frozenset[int]) -> None:
        """Set the assigned partitions; the state of others is dropped."""
        self._assigned = partitions
        self._snapshots = {
            p: snapshot for p, snapshot in self._snapshots.items() if p in partitions
        }

    def get(
        self, sinces: Mapping[int, int], next_offset: Callable[[int], int], scan: Scan[State]
    ) -> Mapping[int, State]:
        """The states of these partitions, each covering rows since its time in `sinces`."""
        snapshots = self._snapshots
        if not all(
            is_current(snapshots.get(p), next_offset(p), since) for p, since in sinces.items()
        ):
            self._snapshots = snapshots = self._rebuild(sinces, next_offset, scan)
        return {partition: snapshots[partition].state for partition in sinces}

    def advance(self, offset_updates: Mapping[int, OffsetUpdate]) -> None:
        """Move the next offsets, after a batch was committed and added to the states."""
        for partition, update in offset_updates.items():
            snapshot = self._snapshots.get(partition)
            if snapshot and snapshot.next == update.expected:
                snapshot.next = update.next

    def expire(self, partition: int, since: int, drop: Callable[[State, int], None]) -> None:
        """Drop the state of rows received before `since`, by `drop`."""
        snapshot = self._snapshots.get(partition)
        if snapshot and since > snapshot.since:
            drop(snapshot.state, since)
            snapshot.since = since

    def cached(self, partitions: Collection[int]) -> Mapping[int, State]:
        """The states of those partitions that have one."""
        snapshots = self._snapshots
        return {p: snapshots[p].state for p in partitions if p in snapshots}

    def all_states(self) -> Collection[State]:
        """The states of all partitions."""
        return [snapshot.state for snapshot in self._snapshots.values()]

    def _rebuild(
        self, sinces: Mapping[int, int], next_offset: Callable[[int], int], scan: Scan[State]
    ) -> Mapping[int, PartitionSnapshot[State]]:
        started = time.monotonic()
        since = min(sinces.values())
        requested = self._assigned | set(sinces)
        current = {
            p: snapshot
            for p, snapshot in self._snapshots.items()
            if p in requested and is_current(snapshot, next_offset(p), sinces.get(p, since))
        }
        stale = sorted(requested - set(current))
        self._snapshots = current  # stale states are freed before the scan
        rebuilt = scan(stale, since)
        log.info(
            "state rebuilt from table",
            extra={
                "state": self._name,
                "partitions": len(stale),
                "seconds": round(time.monotonic() - started, 2),
            },
        )
        return {
            **current,
            **{p: PartitionSnapshot(next_offset(p), since, state) for p, state in rebuilt.items()},
        }


def is_current(snapshot: PartitionSnapshot[State] | None, table_offset: int, since: int) -> bool:
    """Whether the state is exact for this table offset and covers rows since then."""
    return snapshot is not None and snapshot.next == table_offset and snapshot.since <= since
