"""How much memory the ids of a worker may take; beyond it the oldest rest on the disk."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from schemas.runtime.settings import Settings
from stream.state.id_bucket import Slot
from stream.state.id_index import Seen

LEAST = 4_096
"""What is smaller than this is not worth a file."""


class Room:
    """Shared by all kinds of a worker."""

    def __init__(self, folder: Path, most: int) -> None:
        """At most so many bytes."""
        self.folder = folder
        """For what rests on the disk."""
        self._most = most
        self._taken: dict[str, int] = {}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As large as the settings say."""
        return cls(settings.data / "cache", settings.ids_mb * 1_048_576)

    def keep_within(self, owner: str, seen: Iterable[Seen]) -> None:
        """Let the owner's oldest slots rest on the disk until there is room for all owners."""
        slots = [held for one in seen for held in one.slots.items()]
        self._taken[owner] = sum(slot.nbytes for _, slot in slots)
        if self.over <= 0:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        oldest = [slot for _, slot in sorted(slots, key=lambda held: held[0])]
        for slot in oldest:
            if self.over > 0 and slot.spillable >= LEAST:
                self._make_room(owner, slot, slot.spill)
        for slot in oldest:  # a flood of ids has filters that fill the room by themselves
            if self.over > 0 and slot.filter_bytes >= LEAST:
                self._make_room(owner, slot, slot.rest_filter)

    @property
    def over(self) -> int:
        """Bytes that there is no room for."""
        return sum(self._taken.values()) - self._most

    def _make_room(self, owner: str, slot: Slot, leave: Callable[[Path], None]) -> None:
        before = slot.nbytes
        leave(self.folder)
        self._taken[owner] -= before - slot.nbytes
