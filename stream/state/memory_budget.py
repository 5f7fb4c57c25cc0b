"""Memory budget of all id indexes; the oldest buckets are spilled to disk."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from schemas.runtime.settings import Settings
from stream.state.id_index import IdBucket, IdIndex

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


def max_min_share(sizes: Iterable[int], limit: int) -> int:
    """Max-min fair share: the size to which each is cut so that their sum is within `limit`."""
    remaining = sorted(sizes)
    for index, size in enumerate(remaining):
        share = limit // (len(remaining) - index)
        if size > share:
            return share
        limit -= size
    return remaining[-1] if remaining else 0
