"""Watchdog: tells a process that hangs from one that works, a full disk and a frozen machine.

A sign of life is a heartbeat file that changed, or an answer. What is added up is the time between
our own looks, each gap capped: when we were frozen ourselves, or the clock jumped, nobody hangs.
"""

import http.client
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MAX_GAP_SECONDS = 2.0
HTTP_TIMEOUT_SECONDS = 1.0

LivenessCheck = Callable[[], bool]
"""Whether there was a sign of life since the last call."""


class Watchdog:
    """How long a process has shown no sign of life, as far as we were awake to see it."""

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._checked_at = clock()
        self.silent_seconds = 0.0

    def is_hung(self, alive: bool) -> bool:
        """Note what a look saw; whether the silence is longer than the limit now."""
        now = self._clock()
        gap, self._checked_at = now - self._checked_at, now
        self.silent_seconds = 0.0 if alive else self.silent_seconds + min(gap, MAX_GAP_SECONDS)
        return self.silent_seconds > self.limit

    def reset(self) -> None:
        """Begin anew: the silence had another reason."""
        self.silent_seconds = 0.0


def heartbeat_changed(path: Path) -> LivenessCheck:
    """The file was replaced or touched."""
    last: list[tuple[int, int]] = []

    def moved() -> bool:
        try:
            now = path.stat()
        except OSError:
            return False
        seen = [(now.st_mtime_ns, now.st_ino)]
        if seen == last:
            return False
        last[:] = seen
        return True

    return moved


def http_answers(host: str, port: int) -> LivenessCheck:
    """GET /health/live has an answer. Who shares its port with others must not be asked so."""

    def answered() -> bool:
        connection = http.client.HTTPConnection(host, port, timeout=HTTP_TIMEOUT_SECONDS)
        try:
            connection.request("GET", "/health/live")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return answered


def first_or_second(
    first: LivenessCheck, second: LivenessCheck, patience: int = 5
) -> LivenessCheck:
    """One sign is enough; the second is looked for only when the first is missing for long."""
    missed = 0

    def seen() -> bool:
        nonlocal missed
        missed = 0 if first() else missed + 1
        return missed == 0 or (missed > patience and second())

    return seen


def is_writable(folder: Path) -> bool:
    """Whether a heartbeat could be written there: on a full disk silence says nothing."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        probe.write_bytes(b"tidemark")
    except OSError:
        return False
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    return True
