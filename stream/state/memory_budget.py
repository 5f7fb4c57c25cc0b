"""How much memory the ids of a worker may take; beyond it the oldest rest on the disk."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from schemas.runtime.settings import Settings
from stream.state.id_index import IdBucket, IdIndex

MIN_SPILL_BYTES = 4_096
"""What is smaller than this is not worth a file."""


class MemoryBudget:
    """Shared by all kinds of a worker."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """At most so many bytes."""
        self.folder = folder
        """For what rests on the disk."""
        self._limit = max_bytes
        self._used: dict[str, int] = {}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As large as the settings say."""
        return cls(settings.data / "cache", settings.ids_mb * 1_048_576)

    def enforce(self, owner: str, indexes: Iterable[IdIndex]) -> None:
        """Let the owner's oldest slots rest on the disk until there is room for all owners."""
        buckets = [item for index in indexes for item in index.buckets.items()]
        self._used[owner] = sum(bucket.nbytes for _, bucket in buckets)
        if self.over <= 0:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        oldest = [bucket for _, bucket in sorted(buckets, key=lambda item: item[0])]
        for bucket in oldest:
            if self.over > 0 and bucket.spillable >= MIN_SPILL_BYTES:
                self._release(owner, bucket, bucket.spill)
        for bucket in oldest:  # a flood of ids has filters that fill the room by themselves
            if self.over > 0 and bucket.filter_bytes >= MIN_SPILL_BYTES:
                self._release(owner, bucket, bucket.spill_filter)

    @property
    def over(self) -> int:
        """Bytes that there is no room for."""
        return sum(self._used.values()) - self._limit

    def _release(self, owner: str, bucket: IdBucket, spill: Callable[[Path], None]) -> None:
        before = bucket.nbytes
        spill(self.folder)
        self._used[owner] -= before - bucket.nbytes


def max_min_share(sizes: Iterable[int], limit: int) -> int:
    """How much each may have at most, so that all together have no more than there is room for."""
    remaining = sorted(sizes)
    for index, size in enumerate(remaining):
        share = limit // (len(remaining) - index)
        if size > share:
            return share
        limit -= size
    return remaining[-1] if remaining else 0
