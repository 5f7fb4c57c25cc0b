"""Freshness: the instant up to which everything that was acknowledged is in the answer.

The workers' pulses say it, as long as every partition has a live worker that does. Else it is
guessed from the newest row of the pinned version, which is right as long as no partition is behind.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from query.engine.snapshots import PinnedVersion
from schemas.kinds import KINDS
from schemas.runtime.clock import Clock, format_instant
from schemas.runtime.heartbeat import STALE_AFTER_MS, Heartbeat, complete_until, read_heartbeats

POLL_SECONDS = 1.0

TOPIC_OF = {kind.table.name: kind.topic for kind in KINDS}


class Freshness(Struct, frozen=True):
    """What `meta` says about it; null when nothing was ever stored."""

    watermark: str | None
    lag_seconds: float | None


class FreshnessTracker:
    """Reads the workers' pulses at most once a second, and remembers how many partitions there are.

    `prefix` is what every topic's name begins with in Kafka.
    """

    def __init__(self, run: Path, clock: Clock, prefix: str = "") -> None:
        self._run = run
        self._clock = clock
        self._prefix = prefix
        self._read_at = float("-inf")
        self._pulses: Sequence[Heartbeat] = ()
        self._partitions: dict[str, int] = {}

    async def freshness_of(self, pins: Iterable[PinnedVersion]) -> Freshness:
        """The freshness of an answer made from these versions: that of the least fresh."""
        await self._read()
        now = self._clock()
        marks = [self._watermark(pinned, now) for pinned in pins]
        known = [mark for mark in marks if mark is not None]
        if not known or len(known) < len(marks):
            return Freshness(None, None)
        lowest = min(known)
        return Freshness(format_instant(lowest), max(0, round((now - lowest) / 100)) / 10)

    def _watermark(self, pinned: PinnedVersion, now_ms: int) -> int | None:
        topic = self._prefix + TOPIC_OF[pinned.version.table.name]
        live = [pulse for pulse in self._pulses if now_ms - pulse.at_ms < STALE_AFTER_MS]
        level = complete_until(topic, live, self._partitions.get(topic, 0))
        # What was stored after we looked is not in the version, however level the workers are.
        if level is None or pinned.is_historic:
            return pinned.version.newest_received_ms
        return min(level, pinned.checked_ms)

    async def _read(self) -> None:
        if time.monotonic() - self._read_at < POLL_SECONDS:
            return
        self._read_at = time.monotonic()
        self._pulses = await asyncio.to_thread(read_heartbeats, self._run)
        for pulse in self._pulses:
            for at in pulse.progress:
                most = max(self._partitions.get(at.topic, 0), at.partition + 1)
                self._partitions[at.topic] = most
