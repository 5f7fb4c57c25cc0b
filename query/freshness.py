"""Freshness: the instant up to which everything that was acknowledged is in the answer.

The newest row of the pinned version is one such instant. When nothing arrives that would age for
ever, so the workers' pulses say since when they had nothing left to store.
"""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from query.snapshots import Pinned
from query.standard.forms import iso
from schemas.clock import Clock
from schemas.kinds import KINDS
from schemas.pulse import STALE_MS, Pulse, read_pulses

REREAD_SECONDS = 1.0

TOPIC_OF = {kind.table.name: kind.topic for kind in KINDS}


class Freshness(Struct, frozen=True, rename="camel"):
    """What `meta` says about it; null when nothing was ever stored."""

    watermark: str | None
    lag_seconds: float | None


class Watch:
    """Reads the pulses at most once a second."""

    def __init__(self, run: Path, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self._read_at = float("-inf")
        self._pulses: list[Pulse] = []

    async def of(self, pins: Iterable[Pinned]) -> Freshness:
        """The freshness of an answer made from these versions: that of the least fresh."""
        if time.monotonic() - self._read_at > REREAD_SECONDS:
            self._read_at = time.monotonic()
            self._pulses = await asyncio.to_thread(read_pulses, self._run)
        now = self._clock()
        marks = [watermark(pinned, self._pulses, now) for pinned in pins]
        known = [mark for mark in marks if mark is not None]
        if not known or len(known) < len(marks):
            return Freshness(None, None)
        lowest = min(known)
        return Freshness(iso(lowest), max(0, round((now - lowest) / 100)) / 10)


def watermark(pinned: Pinned, pulses: Iterable[Pulse], now_ms: int) -> int | None:
    """Unix milliseconds; None when neither a row nor a worker tells."""
    topic = TOPIC_OF[pinned.version.table.name]
    idle = [
        pulse.caught_up_ms[topic]
        for pulse in pulses
        if topic in pulse.caught_up_ms and now_ms - pulse.at_ms < STALE_MS
    ]
    # What a worker stored after we looked is not in the version, however fresh the worker is.
    caught_up = min(*idle, pinned.looked_ms) if idle else None
    received = pinned.version.received
    return max((mark for mark in (received, caught_up) if mark is not None), default=None)
