"""Watchdog: detects a hung process, ignoring full disks and suspended machines.

A sign of life is a changed heartbeat file or an HTTP response. The watchdog adds up the time
between its own polls, each gap capped, so that a suspended machine or a clock jump looks like no
hang.
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
    """Measures how long a process shows no sign of life, while the supervisor itself runs."""

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._checked_at = clock()
        self.silent_seconds = 0.0

    def is_hung(self, alive: bool) -> bool:
        """Record one poll; return whether the silence exceeds the limit."""
        now = self._clock()
        gap, self._checked_at = now - self._checked_at, now
        self.silent_seconds = 0.0 if alive else self.silent_seconds + min(gap, MAX_GAP_SECONDS)
        return self.silent_seconds > self.limit

    def reset(self) -> None:
        """Restart the measurement: the silence had another cause."""
        self.silent_seconds = 0.0


def heartbeat_changed(path: Path) -> LivenessCheck:
    """A liveness check: the file was replaced or touched since the last call."""
    last: list[tuple[int, int]] = []

    def is_changed() -> bool:
        try:
            now = path.stat()
        except OSError:
            return False
        stamp = [(now.st_mtime_ns, now.st_ino)]
        if stamp == last:
            return False
        last[:] = stamp
        return True

    return is_changed


def http_answers(host: str, port: int) -> LivenessCheck:
    """A liveness check: GET /health/live returns 200. Not for processes that share a port."""

    def is_answering() -> bool:
        connection = http.client.HTTPConnection(host, port, timeout=HTTP_TIMEOUT_SECONDS)
        try:
            connection.request("GET", "/health/live")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return is_answering


def first_or_second(
    first: LivenessCheck, second: LivenessCheck, max_missed: int = 5
) -> LivenessCheck:
    """A liveness check that tries the second one only after the first has failed repeatedly."""
    missed = 0

    def is_alive() -> bool:
        nonlocal missed
        missed = 0 if first() else missed + 1
        return missed == 0 or (missed > max_missed and second())

    return is_alive


def is_writable(folder: Path) -> bool:
    """Whether a heartbeat can be written to the folder: on a full disk there are none."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        probe.write_bytes(b"tidemark")
    except OSError:
        return False
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    return True
