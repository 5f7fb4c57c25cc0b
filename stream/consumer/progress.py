"""How far a worker is: what it holds, what it has stored, and whether it still gets on."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.heartbeat import Heartbeat, PartitionProgress, write_heartbeat
from stream.runtime.errors import Stuck

TopicPartition = tuple[str, int]
"""Topic and partition."""

STUCK_SECONDS = 60.0
FETCH_LAG_MS = 1_000
"""What Kafka holds is known from the last fetch; one is answered many times in this while."""


class WorkerProgress:
    """The next and end offsets of every topic partition that this worker holds."""

    def __init__(
        self, clock: Clock = now_ms, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._next: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._stored_ms: dict[TopicPartition, int] = {}
        self._stored_until: dict[str, int] = {}
        self._files_scanned = 0
        self._ready = False
        self._progressed_at = self._joined_at = self._behind_at = monotonic()

    def assign(self, nexts: dict[TopicPartition, int]) -> None:
        """Partitions that were given to this worker, instead of those before."""
        self._next = dict(nexts)
        self._ends, self._stored_ms, self._stored_until = {}, {}, {}
        self._progressed_at = self._monotonic()

    def batch_written(
        self, topic: str, nexts: Mapping[int, int], taken_ms: Mapping[int, int]
    ) -> None:
        """A batch was stored; `taken_ms` is when Kafka took the last message of each partition."""
        for partition, offset in nexts.items():
            self._next[topic, partition] = offset
            self._stored_ms[topic, partition] = taken_ms[partition]
        self._progressed_at = self._behind_at = self._monotonic()

    def note_scan(self, pieces: int) -> None:
        """So many pieces of the tables were read back so far: one more is getting on, too."""
        if pieces > self._files_scanned:
            self._files_scanned, self._progressed_at = pieces, self._monotonic()

    def note_end_offsets(self, ends: dict[TopicPartition, int]) -> None:
        """What Kafka holds by now."""
        self._ends.update(ends)
        for topic in {topic for topic, _ in self._next}:
            complete = self._stored_until_ms(topic)
            if complete is not None:
                self._stored_until[topic] = max(complete, self._stored_until.get(topic, 0))
        if not any(self._is_behind(topic) for topic, _ in self._next):
            self._progressed_at = self._monotonic()
        if not self._next or any(self._ends.get(at) != to for at, to in self._next.items()):
            self._behind_at = self._monotonic()

    def caught_up_seconds(self) -> float:
        """For how long everything that Kafka has of all partitions held has been stored."""
        return self._monotonic() - self._behind_at

    def note_membership(self, joined: bool) -> None:
        """Whether Kafka counts this worker among the group; not while it shares out anew."""
        if joined:
            self._joined_at, self._ready = self._monotonic(), True

    @property
    def joined(self) -> bool:
        """Whether this worker was in the group once."""
        return self._ready

    def raise_if_stuck(self) -> None:
        """Stuck when there is something to store, or a group to join, and for long nothing came."""
        now = self._monotonic()
        if now - self._progressed_at > STUCK_SECONDS:
            raise Stuck(f"nothing stored for {now - self._progressed_at:.0f} s: {self.progress()}")
        if now - self._joined_at > STUCK_SECONDS:
            raise Stuck(f"not in the group for {now - self._joined_at:.0f} s")

    def partitions(self) -> Iterable[TopicPartition]:
        """The topic partitions held."""
        return tuple(self._next)

    def progress(self) -> tuple[PartitionProgress, ...]:
        return tuple(
            PartitionProgress(
                topic, partition, offset, max(self._ends.get((topic, partition), 0), offset)
            )
            for (topic, partition), offset in sorted(self._next.items())
        )

    def write_heartbeat(
        self, run: Path, name: str, pid: int, before: Heartbeat, left_out: str = ""
    ) -> None:
        """Write how this worker is, and what it leaves out; until it was in the group, `before`."""
        state, reason = ("ready", left_out) if self._ready else (before.state, before.reason)
        complete = dict(self._stored_until)
        write_heartbeat(
            run, Heartbeat(name, pid, self._clock(), state, self.progress(), complete, reason)
        )

    def _stored_until_ms(self, topic: str) -> int | None:
        """Before when everything is stored, in all partitions; None when one does not say."""
        marks = [self._watermark(place) for place in self._next if place[0] == topic]
        known = [mark for mark in marks if mark is not None]
        return min(known) if len(known) == len(marks) else None

    def _watermark(self, place: TopicPartition) -> int | None:
        end = self._ends.get(place)
        if end is not None and end <= self._next[place]:
            return self._clock() - FETCH_LAG_MS
        return self._stored_ms.get(place)

    def _is_behind(self, topic: str) -> bool:
        return any(
            self._ends.get(place, 0) > offset
            for place, offset in self._next.items()
            if place[0] == topic
        )
