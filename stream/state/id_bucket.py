"""The ids that one topic partition stored in one stretch of time: sorted, 8 bytes each.

What comes in lies loose until somebody asks. Then it is sorted and joined with what is not much
larger, so that there are few arrays to search and each id is moved a few times at most.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stream.state.bloom_filter import BloomFilter, HashProbe, Ids, Mask

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


def _joined(*sorted_: Ids) -> Ids:
    # Timsort finds the sorted stretches and merges them.
    return np.sort(np.concatenate(sorted_), kind="stable")
