"""RejectionCounts: why items and requests of each website were rejected, in bounded memory.

A sample, as far back as the start of the process: of the websites and reasons that were met last.
What was sent is not kept; the message names field and rule.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

MAX_WEBSITES = 500
MAX_REASONS = 40
"""Reasons of a website; the one that was met longest ago makes way for another."""

DRIFT_CODE = "CONTRACT_DRIFT"
"""Code of counts of accepted items that differ from the contract of their website."""
REJECTS_OMITTED = "more items were rejected than are kept here"


class RejectionCount(Struct, frozen=True, gc=False):
    """How often items of one route were rejected with one message, first and last."""

    path: str
    code: str
    message: str
    count: int
    first_ms: int
    last_ms: int

    @property
    def reason(self) -> tuple[str, str, str]:
        return self.path, self.code, self.message

    def plus(self, other: "RejectionCount") -> "RejectionCount":
        """Both together; the reason is the same."""
        return structs.replace(
            self,
            count=self.count + other.count,
            first_ms=min(self.first_ms, other.first_ms),
            last_ms=max(self.last_ms, other.last_ms),
        )


class RejectionCounts:
    """Counts of all websites."""

    def __init__(self) -> None:
        self._websites: OrderedDict[str, OrderedDict[tuple[str, str, str], RejectionCount]] = (
            OrderedDict()
        )

    def add(self, subject_id: str, rejections: Iterable[RejectionCount]) -> None:
        """Add rejections, and forget what exceeds the bounds."""
        counts = self._websites.setdefault(subject_id, OrderedDict())
        self._websites.move_to_end(subject_id)
        for rejection in rejections:
            before = counts.get(rejection.reason)
            counts[rejection.reason] = before.plus(rejection) if before else rejection
            counts.move_to_end(rejection.reason)
        while len(counts) > MAX_REASONS:
            counts.popitem(last=False)
        while len(self._websites) > MAX_WEBSITES:
            self._websites.popitem(last=False)

    def of_website(self, subject_id: str) -> Sequence[RejectionCount]:
        """The counts of a website, in no order."""
        return list(self._websites.get(subject_id, {}).values())


def merged_counts(rejections: Iterable[RejectionCount]) -> Sequence[RejectionCount]:
    """One for each reason, the most frequent first."""
    merged: dict[tuple[str, str, str], RejectionCount] = {}
    for rejection in rejections:
        before = merged.get(rejection.reason)
        merged[rejection.reason] = before.plus(rejection) if before else rejection
    return sorted(merged.values(), key=lambda each: (-each.count, each.reason))
