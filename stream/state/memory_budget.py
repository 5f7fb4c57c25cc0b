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

    def __init__(self, folder: Path, most: int) -> None:
        """At most so many bytes."""
        self.folder = folder
        """For what rests on the disk."""
        self._limit = most
        self._used: dict[str, int] = {}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As large as the settings say."""
        return cls(settings.data / "cache", settings.ids_mb * 1_048_576)

    def enforce(self, owner: str, seen: Iterable[IdIndex]) -> None:
        """Let the owner's oldest slots rest on the disk until there is room for all owners."""
        slots = [held for one in seen for held in one.buckets.items()]
        self._used[owner] = sum(slot.nbytes for _, slot in slots)
        if self.over <= 0:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        oldest = [slot for _, slot in sorted(slots, key=lambda held: held[0])]
        for slot in oldest:
            if self.over > 0 and slot.spillable >= MIN_SPILL_BYTES:
                self._release(owner, slot, slot.spill)
        for slot in oldest:  # a flood of ids has filters that fill the room by themselves
            if self.over > 0 and slot.filter_bytes >= MIN_SPILL_BYTES:
                self._release(owner, slot, slot.spill_filter)

    @property
    def over(self) -> int:
        """Bytes that there is no room for."""
        return sum(self._used.values()) - self._limit

    def _release(self, owner: str, slot: IdBucket, leave: Callable[[Path], None]) -> None:
        before = slot.nbytes
        leave(self.folder)
        self._used[owner] -= before - slot.nbytes


def max_min_share(sizes: Iterable[int], room: int) -> int:
    """How much each may have at most, so that all together have no more than there is room for."""
    rest = sorted(sizes)
    for index, size in enumerate(rest):
        share = room // (len(rest) - index)
        if size > share:
            return share
        room -= size
    return rest[-1] if rest else 0
