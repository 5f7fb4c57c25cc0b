"""Index of event ids of one topic partition, in time buckets: sorted arrays behind a Bloom filter.

An item is a duplicate when an item with the same id was stored before it in its topic partition, in
the same bucket of three hours or one of the eight before: 24 to 27 hours. That depends only on the
two times of receipt and on the items at lower offsets, so that a replay gives the same result.

The indexes of a worker share a memory budget; the oldest buckets are spilled to disk.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from schemas.runtime.settings import Settings
from stream.state.bloom_filter import BloomFilter, HashProbe, Ids, Mask

BUCKET_MS = 3 * 3_600_000
WINDOW_BUCKETS = 8
"""Buckets before its own in which a duplicate's original may be: 24 hours at least."""
SLACK_BUCKETS = 1
"""Buckets that are kept longer, because the clocks of collectors differ."""

MAX_BINCOUNT_RANGE = 1024

Numbers = npt.NDArray[np.int64]
NO_IDS: Ids = np.empty(0, np.uint64)


class IdBucket:
    """The ids of one time bucket, 8 bytes each: a set that only grows.

    New ids are buffered until the next search. Then they are sorted and merged with arrays that are
    not much larger, so that there are few arrays to search and an id is moved a few times at most.
    """

    def __init__(self) -> None:
        self._unsorted: list[Ids] = []
        self._sorted: list[Ids] = []
        """From large to small, each more than twice the size of the next."""
        self._spilled: Ids = NO_IDS
        """A memory-mapped file, read where a search needs it."""
        self._filter = BloomFilter(0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Memory that the bucket takes; spilled arrays take none."""
        return sum(ids.nbytes for ids in (*self._unsorted, *self._sorted)) + self._filter.nbytes

    @property
    def spillable(self) -> int:
        """Memory that spilling the ids would free."""
        return self.nbytes - self._filter.nbytes

    def add(self, ids: Ids) -> None:
        self._unsorted.append(ids)
        self._count += len(ids)

    def find(self, probe: HashProbe, found: Mask) -> None:
        """Set `found` for the ids that the bucket holds."""
        self.sort()
        candidates = self._filter.candidates(probe)
        if len(candidates):
            found[candidates] |= self._search(probe.ids[candidates])

    def sort(self) -> None:
        """Sort and merge the buffered ids."""
        if not self._unsorted:
            return
        new = np.sort(np.concatenate(self._unsorted))
        self._unsorted = []
        self._add_to_filter(new)
        while self._sorted and len(self._sorted[-1]) <= 2 * len(new):
            new = _joined(self._sorted.pop(), new)
        self._sorted.append(new)

    def spill(self, folder: Path) -> None:
        """Move all ids to an unlinked temporary file, which disappears with the process."""
        self.sort()
        merged = _joined(*self._arrays())
        self._sorted = []
        with tempfile.TemporaryFile(dir=folder) as file:
            merged.tofile(file)
            file.flush()
            self._spilled = np.memmap(file, np.uint64, "r")

    @property
    def filter_bytes(self) -> int:
        """Memory that the Bloom filter takes."""
        return self._filter.nbytes

    def spill_filter(self, folder: Path) -> None:
        """Move the Bloom filter to a file too; each search then reads from the disk."""
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

    def _search(self, candidates: Ids) -> Mask:
        found = np.zeros(len(candidates), np.bool_)
        for ids in self._arrays():
            positions = np.minimum(np.searchsorted(ids, candidates), len(ids) - 1)
            found |= ids[positions] == candidates
        return found


class IdIndex:
    """The ids of one topic partition, by time bucket of receipt."""

    def __init__(self) -> None:
        self.buckets: dict[int, IdBucket] = {}

    def add(self, ids: Ids, buckets: Numbers) -> None:
        numbers = distinct(buckets)
        for number in numbers:
            bucket_ids = ids if len(numbers) == 1 else ids[buckets == number]
            self.buckets.setdefault(number, IdBucket()).add(bucket_ids)

    def expire(self, before: int) -> None:
        """Drop the buckets before this one."""
        self.buckets = {
            number: bucket for number, bucket in self.buckets.items() if number >= before
        }

    def duplicates(self, ids: Ids, buckets: Numbers) -> Mask:
        """Which of these ids are duplicates of stored ids or of earlier ones among them."""
        is_duplicate = self._stored(ids, buckets)
        for group in _equal_ids(ids):
            original_buckets: list[int] = []
            for index in group:
                if any(
                    original >= buckets[index] - WINDOW_BUCKETS for original in original_buckets
                ):
                    is_duplicate[index] = True
                elif not is_duplicate[index]:
                    original_buckets.append(int(buckets[index]))
        return is_duplicate

    def _stored(self, ids: Ids, buckets: Numbers) -> Mask:
        is_duplicate = np.zeros(len(ids), np.bool_)
        probe = HashProbe(ids)
        newest = int(buckets.max()) if len(buckets) else 0
        for number, bucket in self.buckets.items():
            if number >= newest - WINDOW_BUCKETS:
                bucket.find(probe, is_duplicate)
            else:
                in_window = np.flatnonzero(buckets <= number + WINDOW_BUCKETS)
                found = is_duplicate[in_window]
                bucket.find(HashProbe(ids[in_window]), found)
                is_duplicate[in_window] = found
        return is_duplicate


def distinct(numbers: Numbers) -> list[int]:
    """The distinct values; ten times as fast as `numpy.unique` when they are close together."""
    lowest, highest = int(numbers.min()), int(numbers.max())
    if lowest == highest:
        return [lowest]
    if highest - lowest >= MAX_BINCOUNT_RANGE:
        return [int(number) for number in np.unique(numbers)]
    return [lowest + int(gap) for gap in np.flatnonzero(np.bincount(numbers - lowest))]


def _equal_ids(ids: Ids) -> Iterator[Sequence[int]]:
    """Positions of each id that occurs more than once."""
    order = np.argsort(ids, kind="stable")
    in_order = ids[order]
    equal_next = np.flatnonzero(in_order[1:] == in_order[:-1])
    if not len(equal_next):
        return
    for repeated in np.unique(in_order[equal_next]):
        first, last = (
            np.searchsorted(in_order, repeated),
            np.searchsorted(in_order, repeated, "right"),
        )
        yield order[first:last].tolist()


def _joined(*sorted_: Ids) -> Ids:
    # Timsort (`stable`) merges the sorted runs that it finds.
    return np.sort(np.concatenate(sorted_), kind="stable")


MIN_SPILL_BYTES = 4_096
"""Smaller buckets are not worth a file."""


class MemoryBudget:
    """The bytes that the id indexes of a worker may take, shared by its tables."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        """Folder of spilled files."""
        self._limit = max_bytes
        self._used: dict[str, int] = {}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The budget that the settings give."""
        return cls(settings.data / "cache", settings.ids_mb * 1_048_576)

    def enforce(self, owner: str, indexes: Iterable[IdIndex]) -> None:
        """Spill the owner's oldest buckets until all owners together are within the budget."""
        buckets = [item for index in indexes for item in index.buckets.items()]
        self._used[owner] = sum(bucket.nbytes for _, bucket in buckets)
        if self.over <= 0:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        oldest = [bucket for _, bucket in sorted(buckets, key=lambda item: item[0])]
        for bucket in oldest:
            if self.over > 0 and bucket.spillable >= MIN_SPILL_BYTES:
                self._release(owner, bucket, bucket.spill)
        for bucket in oldest:  # after a flood of ids the filters alone may exceed the budget
            if self.over > 0 and bucket.filter_bytes >= MIN_SPILL_BYTES:
                self._release(owner, bucket, bucket.spill_filter)

    @property
    def over(self) -> int:
        """Bytes beyond the budget."""
        return sum(self._used.values()) - self._limit

    def _release(self, owner: str, bucket: IdBucket, spill: Callable[[Path], None]) -> None:
        before = bucket.nbytes
        spill(self.folder)
        self._used[owner] -= before - bucket.nbytes
