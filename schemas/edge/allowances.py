"""Allowances: how many requests a tenant still has in this window of 60 seconds, and the headers.

Windows are fixed and begin with a tenant's first request in them. They are kept in this process:
with several processes behind one port each counts on its own (see README, Decisions).
"""

from datetime import UTC, datetime

from msgspec import Struct

from schemas.clock import Clock
from schemas.failures import LimitExceeded
from schemas.plans import WINDOW_SECONDS

Headers = list[tuple[bytes, bytes]]

WINDOW_MS = WINDOW_SECONDS * 1000
MOST_WINDOWS = 100_000


class Allowance(Struct, frozen=True, gc=False):
    """What a response says about the caller's limit."""

    limit: int
    remaining: int
    reset_ms: int

    def headers(self) -> Headers:
        """The three headers of interface 8; the reset in whole Unix seconds, rounded up."""
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % -(-self.reset_ms // 1000)),
        ]


class _Window(Struct, gc=False):
    ends_ms: int
    used: int


class Limiter:
    """Counts requests per caller; memory is bounded whatever is sent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[str, _Window] = {}

    def take(self, caller: str, limit: int) -> Allowance:
        """Count one request; `remaining` is -1 when there was none left."""
        window = self._window(caller)
        if window.used >= limit:
            return Allowance(limit, -1, window.ends_ms)
        window.used += 1
        return Allowance(limit, limit - window.used, window.ends_ms)

    def look(self, caller: str, limit: int) -> Allowance:
        """The allowance without counting."""
        window = self._window(caller)
        return Allowance(limit, max(0, limit - window.used), window.ends_ms)

    def _window(self, caller: str) -> _Window:
        now = self._clock()
        window = self._windows.get(caller)
        if window is None or window.ends_ms <= now:
            if len(self._windows) >= MOST_WINDOWS:
                self._forget(now)
            window = self._windows[caller] = _Window(now + WINDOW_MS, 0)
        return window

    def _forget(self, now: int) -> None:
        self._windows = {k: w for k, w in self._windows.items() if w.ends_ms > now}
        if len(self._windows) >= MOST_WINDOWS:
            self._windows.clear()  # a flood of callers: better to forgive than to grow


def exceeded(allowance: Allowance, now_ms: int) -> LimitExceeded:
    """The failure that says when to come back."""
    reset = datetime.fromtimestamp(allowance.reset_ms / 1000, UTC)
    return LimitExceeded(
        allowance.limit,
        reset.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        max(1, -(-(allowance.reset_ms - now_ms) // 1000)),
    )
