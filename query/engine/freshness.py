"""Watermark of a result: everything received before it is included.

It comes from the heartbeats of the workers while every partition has a live worker. Otherwise it is
estimated from the newest row of the pinned version, which is exact while no partition lags.
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
    """Watermark and lag for `meta`; null when nothing was ever stored."""

    watermark: str | None
    lag_seconds: float | None


class FreshnessTracker:
    """Reads the heartbeats of the workers at most once a second; knows the number of partitions.

    `prefix` is the prefix of topic names in Kafka.
    """

    def __init__(self, run: Path, clock: Clock, prefix: str = "") -> None:
        self._run = run
        self._clock = clock
        self._prefix = prefix
        self._read_at = float("-inf")
        self._heartbeats: Sequence[Heartbeat] = ()
        self._partitions: dict[str, int] = {}

    async def freshness_of(self, pins: Iterable[PinnedVersion]) -> Freshness:
        """The freshness of a result from these versions: that of the least fresh."""
        await self._read()
        now = self._clock()
        watermarks = [self._watermark(pinned, now) for pinned in pins]
        known = [watermark for watermark in watermarks if watermark is not None]
        if not known or len(known) < len(watermarks):
            return Freshness(None, None)
        lowest = min(known)
        return Freshness(format_instant(lowest), max(0, round((now - lowest) / 100)) / 10)

    def _watermark(self, pinned: PinnedVersion, now_ms: int) -> int | None:
        topic = self._prefix + TOPIC_OF[pinned.version.table.name]
        live = [h for h in self._heartbeats if now_ms - h.at_ms < STALE_AFTER_MS]
        watermark = complete_until(topic, live, self._partitions.get(topic, 0))
        # Commits after `checked_ms` are not in the version, even if the workers have no lag.
        if watermark is None or pinned.is_historic:
            return pinned.version.newest_received_ms
        return min(watermark, pinned.checked_ms)

    async def _read(self) -> None:
        if time.monotonic() - self._read_at < POLL_SECONDS:
            return
        self._read_at = time.monotonic()
        self._heartbeats = await asyncio.to_thread(read_heartbeats, self._run)
        for heartbeat in self._heartbeats:
            for at in heartbeat.progress:
                count = max(self._partitions.get(at.topic, 0), at.partition + 1)
                self._partitions[at.topic] = count
