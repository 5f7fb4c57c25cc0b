"""The ids that one topic partition stored lately, and which of new ones are copies.

An item is a copy when an item with the same id was stored before it in its topic partition, in the
same slot of three hours or one of the eight before: for at least 24 hours, at most 27. That depends
on nothing but the times of receipt of the two and on what lies before the item, so whoever reads it
again says the same.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from stream.state.bloom_filter import HashProbe, Ids, Mask
from stream.state.id_bucket import IdBucket

BUCKET_MS = 3 * 3_600_000
WINDOW_BUCKETS = 8
"""Slots before its own in which a copy's original may lie: 24 hours at least."""
SLACK_BUCKETS = 1
"""Slots that are kept beyond, for collectors whose clocks do not agree."""

MAX_BINCOUNT_RANGE = 1024

Numbers = npt.NDArray[np.int64]


class IdIndex:
    """The ids of one topic partition, by slot of receipt."""

    def __init__(self) -> None:
        self.buckets: dict[int, IdBucket] = {}

    def add(self, ids: Ids, slots: Numbers) -> None:
        numbers = distinct(slots)
        for number in numbers:
            own = ids if len(numbers) == 1 else ids[slots == number]
            self.buckets.setdefault(number, IdBucket()).add(own)

    def expire(self, before: int) -> None:
        """Drop the slots before this one."""
        self.buckets = {number: slot for number, slot in self.buckets.items() if number >= before}

    def duplicates(self, ids: Ids, slots: Numbers) -> Mask:
        """Which of these are copies, of what was stored or of one another, in their order."""
        found = self._stored(ids, slots)
        for group in _equal_ids(ids):
            originals: list[int] = []
            for index in group:
                if any(original >= slots[index] - WINDOW_BUCKETS for original in originals):
                    found[index] = True
                elif not found[index]:
                    originals.append(int(slots[index]))
        return found

    def _stored(self, ids: Ids, slots: Numbers) -> Mask:
        found = np.zeros(len(ids), np.bool_)
        probe = HashProbe(ids)
        newest = int(slots.max()) if len(slots) else 0
        for number, slot in self.buckets.items():
            if number >= newest - WINDOW_BUCKETS:
                slot.find(probe, found)
            else:
                near = np.flatnonzero(slots <= number + WINDOW_BUCKETS)
                part = found[near]
                slot.find(HashProbe(ids[near]), part)
                found[near] = part
        return found


def distinct(numbers: Numbers) -> list[int]:
    """The values that occur; `unique` takes ten times as long over few that lie together."""
    least, most = int(numbers.min()), int(numbers.max())
    if least == most:
        return [least]
    if most - least >= MAX_BINCOUNT_RANGE:
        return [int(number) for number in np.unique(numbers)]
    return [least + int(gap) for gap in np.flatnonzero(np.bincount(numbers - least))]


def _equal_ids(ids: Ids) -> Iterator[Sequence[int]]:
    """Places of the same id, for each id that is there more than once."""
    order = np.argsort(ids, kind="stable")
    in_order = ids[order]
    same = np.flatnonzero(in_order[1:] == in_order[:-1])
    if not len(same):
        return
    for twice in np.unique(in_order[same]):
        first, last = np.searchsorted(in_order, twice), np.searchsorted(in_order, twice, "right")
        yield order[first:last].tolist()
