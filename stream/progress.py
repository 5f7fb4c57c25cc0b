"""How far a worker is: what it holds, what it has stored, and whether it still gets on."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from schemas.clock import Clock, now_ms
from schemas.pulse import Progress, Pulse, write_pulse
from stream.failures import Stuck

Place = tuple[str, int]
"""Topic and partition."""

PATIENCE_SECONDS = 60.0


class Journal:
    """The next and end offsets of every topic partition that this worker holds."""

    def __init__(
        self, clock: Clock = now_ms, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._next: dict[Place, int] = {}
        self._ends: dict[Place, int] = {}
        self._caught_up: dict[str, int] = {}
        self._moved = self._joined = monotonic()

    def assign(self, nexts: dict[Place, int]) -> None:
        """Partitions that were given to this worker, instead of those before."""
        self._next = dict(nexts)
        self._ends = {}
        self._moved = self._monotonic()

    def store(self, topic: str, nexts: Mapping[int, int]) -> None:
        """A batch was stored."""
        for partition, offset in nexts.items():
            self._next[topic, partition] = offset
        self._moved = self._monotonic()

    def see(self, ends: dict[Place, int]) -> None:
        """What Kafka holds by now."""
        self._ends.update(ends)
        for topic in {topic for topic, _ in self._next}:
            if not self._waits(topic):
                self._caught_up[topic] = self._clock()
        if not any(self._waits(topic) for topic, _ in self._next):
            self._moved = self._monotonic()

    def join(self, joined: bool) -> None:
        """Whether Kafka counts this worker among the group; not while it shares out anew."""
        if joined:
            self._joined = self._monotonic()

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

    def pulse(self, run: Path, name: str, pid: int, state: str) -> None:
        """Write how this worker is."""
        write_pulse(
            run, Pulse(name, pid, self._clock(), state, self.progress(), dict(self._caught_up))
        )

    def _waits(self, topic: str) -> bool:
        return any(
            self._ends.get(place, 0) > offset
            for place, offset in self._next.items()
            if place[0] == topic
        )
