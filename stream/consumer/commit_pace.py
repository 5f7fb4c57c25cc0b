"""CommitPace: batches become older when little arrives, because every batch is two commits.

A commit writes a data file and a log entry in two tables, whether it has one row or ten thousand.
A batch of few items is written at once while commits are to spare, so that the first items after a
pause are not late; then one is to spare every `quiet_seconds`.
"""

import time
from collections.abc import Callable

FEW_ITEMS = 50
"""A batch of this many items does not wait."""
SPARE_COMMITS = 6
"""Commits to spare after a pause."""


class CommitPace:
    """Decides whether a batch is written now; with `quiet_seconds` 0 every batch is."""

    def __init__(
        self, quiet_seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet_seconds = quiet_seconds
        self._monotonic = monotonic
        self._spare = float(SPARE_COMMITS)
        self._counted_at = monotonic()

    def allows(self, items: int, awaited: bool) -> bool:
        """Whether a batch of so many items is written; `awaited`: a request waits for it."""
        if not self._quiet_seconds or awaited or items >= FEW_ITEMS:
            return True
        now = self._monotonic()
        earned = (now - self._counted_at) / self._quiet_seconds
        self._spare, self._counted_at = min(self._spare + earned, SPARE_COMMITS), now
        if self._spare < 1:
            return False
        self._spare -= 1
        return True
