"""The ids that one topic partition stored lately, and which of new ones are copies.

An item is a copy when an item with the same id was stored before it in its topic partition, in the
same slot of three hours or one of the eight before: for at least 24 hours, at most 27. That depends
on nothing but the times of receipt of the two and on what lies before the item, so whoever reads it
again says the same.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stream.state.bloom_filter import BloomFilter, HashProbe, Ids, Mask

BUCKET_MS = 3 * 3_600_000
WINDOW_BUCKETS = 8
"""Slots before its own in which a copy's original may lie: 24 hours at least."""
SLACK_BUCKETS = 1
"""Slots that are kept beyond, for collectors whose clocks do not agree."""

MAX_BINCOUNT_RANGE = 1024

Numbers = npt.NDArray[np.int64]
NO_IDS: Ids = np.empty(0, np.uint64)


class IdBucket:
    """A set of ids that only grows."""

    def __init__(self) -> None:
        self._unsorted: list[Ids] = []
        self._sorted: list[Ids] = []
        """From large to small, each more than twice the next."""
        self._spilled: Ids = NO_IDS
        """On the disk; read where something is looked for."""
        self._filter = BloomFilter(0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Memory that it takes; what rests on the disk takes none."""
        return sum(ids.nbytes for ids in (*self._unsorted, *self._sorted)) + self._filter.nbytes

    @property
    def spillable(self) -> int:
        """Memory that would be free if it rested on the disk."""
        return self.nbytes - self._filter.nbytes

    def add(self, ids: Ids) -> None:
        self._unsorted.append(ids)
        self._count += len(ids)

    def find(self, probe: HashProbe, found: Mask) -> None:
        """Set `found` for the ids that were added."""
        self.sort()
        suspects = self._filter.candidates(probe)
        if len(suspects):
            found[suspects] |= self._search(probe.ids[suspects])

    def sort(self) -> None:
        """Sort what lies loose."""
        if not self._unsorted:
            return
        new = np.sort(np.concatenate(self._unsorted))
        self._unsorted = []
        self._add_to_filter(new)
        while self._sorted and len(self._sorted[-1]) <= 2 * len(new):
            new = _joined(self._sorted.pop(), new)
        self._sorted.append(new)

    def spill(self, folder: Path) -> None:
        """Let all ids rest in a file without a name: gone with the process, whatever ends it."""
        self.sort()
        everything = _joined(*self._arrays())
        self._sorted = []
        with tempfile.TemporaryFile(dir=folder) as file:
            everything.tofile(file)
            file.flush()
            self._spilled = np.memmap(file, np.uint64, "r")

    @property
    def filter_bytes(self) -> int:
        """Memory that its filter takes."""
        return self._filter.nbytes

    def spill_filter(self, folder: Path) -> None:
        """Let the filter rest on the disk too, at the cost of reading there what is looked for."""
        self._filter.spill(folder)

    def _arrays(self) -> Iterator[Ids]:
        if len(self._spilled):
            yield self._spilled
        yield from self._sorted

    def _add_to_filter(self, new: Ids) -> None:
        if self._count > self._filter.capacity:
            self._filter = BloomFilter(2 * self._count if self._sorted else self._count)
            for ids in self._arrays():
                self._filter.add(ids)
        self._filter.add(new)

    def _search(self, suspects: Ids) -> Mask:
        found = np.zeros(len(suspects), np.bool_)
        for ids in self._arrays():
            places = np.minimum(np.searchsorted(ids, suspects), len(ids) - 1)
            found |= ids[places] == suspects
        return found


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


def _joined(*sorted_: Ids) -> Ids:
    # Timsort finds the sorted stretches and merges them.
    return np.sort(np.concatenate(sorted_), kind="stable")
