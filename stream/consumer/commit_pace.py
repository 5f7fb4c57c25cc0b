"""CommitPace: batches become older when little arrives, because every batch is two commits.

A commit writes a data file and a log entry in two tables, whether it has one row or ten thousand.
A batch of few items is written at once while commits are to spare, so that the first items after a
pause are not late; then one is to spare every `quiet_seconds`, and every LIVE_COMMIT_SECONDS while
somebody looks at the newest rows.
"""

import time
from collections.abc import Callable

FEW_ITEMS = 50
"""A batch of this many items does not wait."""
SPARE_COMMITS = 6
"""Commits to spare after a pause."""
LIVE_COMMIT_SECONDS = 5.0
"""720 batches an hour at most, however often a page asks."""


def nobody_looks() -> bool:
    return False


class CommitPace:
    """Decides whether a batch is written now; with `quiet_seconds` 0 every batch is.

    `is_live` says whether somebody looks; it is called only when a batch would wait.
    """

    def __init__(
        self,
        quiet_seconds: float,
        is_live: Callable[[], bool] = nobody_looks,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet_seconds = quiet_seconds
        self._is_live = is_live
        self._monotonic = monotonic
        self._spare = float(SPARE_COMMITS)
        self._counted_at = monotonic()
        self._allowed_at = float("-inf")

    def allows(self, items: int, awaited: bool) -> bool:
        """Whether a batch of so many items is written; `awaited`: a request waits for it."""
        now = self._monotonic()
        if not self._quiet_seconds or awaited or items >= FEW_ITEMS or self._is_to_spare(now):
            self._allowed_at = now
            return True
        return False

    def _is_to_spare(self, now: float) -> bool:
        earned = (now - self._counted_at) / self._quiet_seconds
        self._spare, self._counted_at = min(self._spare + earned, SPARE_COMMITS), now
        if self._spare >= 1:
            self._spare -= 1
            return True
        if now - self._allowed_at >= LIVE_COMMIT_SECONDS and self._is_live():
            self._spare = 0.0  # or those of the quiet pace came on top
            return True
        return False
