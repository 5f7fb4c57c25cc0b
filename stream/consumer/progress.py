"""How far a worker is: what it holds, what it has stored, and whether it still gets on."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.heartbeat import Progress, Pulse, write_pulse
from stream.runtime.errors import Stuck

Place = tuple[str, int]
"""Topic and partition."""

PATIENCE_SECONDS = 60.0
FETCH_AGE_MS = 1_000
"""What Kafka holds is known from the last fetch; one is answered many times in this while."""


class Journal:
    """The next and end offsets of every topic partition that this worker holds."""

    def __init__(
        self, clock: Clock = now_ms, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._next: dict[Place, int] = {}
        self._ends: dict[Place, int] = {}
        self._stored_ms: dict[Place, int] = {}
        self._complete: dict[str, int] = {}
        self._recalled = 0
        self._ready = False
        self._moved = self._joined = self._behind = monotonic()

    def assign(self, nexts: dict[Place, int]) -> None:
        """Partitions that were given to this worker, instead of those before."""
        self._next = dict(nexts)
        self._ends, self._stored_ms, self._complete = {}, {}, {}
        self._moved = self._monotonic()

    def store(self, topic: str, nexts: Mapping[int, int], taken_ms: Mapping[int, int]) -> None:
        """A batch was stored; `taken_ms` is when Kafka took the last message of each partition."""
        for partition, offset in nexts.items():
            self._next[topic, partition] = offset
            self._stored_ms[topic, partition] = taken_ms[partition]
        self._moved = self._behind = self._monotonic()

    def recall(self, pieces: int) -> None:
        """So many pieces of the tables were read back so far: one more is getting on, too."""
        if pieces > self._recalled:
            self._recalled, self._moved = pieces, self._monotonic()

    def see(self, ends: dict[Place, int]) -> None:
        """What Kafka holds by now."""
        self._ends.update(ends)
        for topic in {topic for topic, _ in self._next}:
            complete = self._complete_ms(topic)
            if complete is not None:
                self._complete[topic] = max(complete, self._complete.get(topic, 0))
        if not any(self._waits(topic) for topic, _ in self._next):
            self._moved = self._monotonic()
        if not self._next or any(self._ends.get(at) != to for at, to in self._next.items()):
            self._behind = self._monotonic()

    def level_seconds(self) -> float:
        """For how long everything that Kafka has of all partitions held has been stored."""
        return self._monotonic() - self._behind

    def join(self, joined: bool) -> None:
        """Whether Kafka counts this worker among the group; not while it shares out anew."""
        if joined:
            self._joined, self._ready = self._monotonic(), True

    @property
    def joined(self) -> bool:
        """Whether this worker was in the group once."""
        return self._ready

    def check(self) -> None:
        """Stuck when there is something to store, or a group to join, and for long nothing came."""
        now = self._monotonic()
        if now - self._moved > PATIENCE_SECONDS:
            raise Stuck(f"nothing stored for {now - self._moved:.0f} s: {self.progress()}")
        if now - self._joined > PATIENCE_SECONDS:
            raise Stuck(f"not in the group for {now - self._joined:.0f} s")

    def places(self) -> Iterable[Place]:
        """The topic partitions held."""
        return tuple(self._next)

    def progress(self) -> tuple[Progress, ...]:
        return tuple(
            Progress(topic, partition, offset, max(self._ends.get((topic, partition), 0), offset))
            for (topic, partition), offset in sorted(self._next.items())
        )

    def pulse(self, run: Path, name: str, pid: int, before: Pulse, left_out: str = "") -> None:
        """Write how this worker is, and what it leaves out; until it was in the group, `before`."""
        state, reason = ("ready", left_out) if self._ready else (before.state, before.reason)
        complete = dict(self._complete)
        write_pulse(run, Pulse(name, pid, self._clock(), state, self.progress(), complete, reason))

    def _complete_ms(self, topic: str) -> int | None:
        """Before when everything is stored, in all partitions; None when one does not say."""
        marks = [self._mark(place) for place in self._next if place[0] == topic]
        known = [mark for mark in marks if mark is not None]
        return min(known) if len(known) == len(marks) else None

    def _mark(self, place: Place) -> int | None:
        end = self._ends.get(place)
        if end is not None and end <= self._next[place]:
            return self._clock() - FETCH_AGE_MS
        return self._stored_ms.get(place)

    def _waits(self, topic: str) -> bool:
        return any(
            self._ends.get(place, 0) > offset
            for place, offset in self._next.items()
            if place[0] == topic
        )
