"""What a drain knows of the rows before a batch: their ids, and the sessions of their visitors."""

from collections.abc import Callable, Collection, Iterable, Mapping

import pyarrow as pa
from msgspec import Struct

from stream.rows.quarantine import Quarantined
from stream.state.deduplication import HASH, Duplicates, Sifted
from stream.state.memory_budget import Room
from stream.state.sessionizer import MADE, Given, Sessions
from stream.storage.delta_commit import LakeTable, Move

REMEMBERED = frozenset((HASH, MADE))
"""The columns that are filled from what is known of the rows before."""


class Told(Struct, frozen=True):
    """A batch in the light of what was before it."""

    sifted: Sifted
    given: Given

    @property
    def rows(self) -> pa.Table:
        """What is to be stored."""
        return self.given.rows

    @property
    def copies(self) -> list[Quarantined]:
        """A note about each item that was stored before."""
        return self.sifted.copies


class Past:
    """Of one table's topic partitions."""

    def __init__(
        self, table: LakeTable, topic: str, room: Room, remembered: Collection[str] = REMEMBERED
    ) -> None:
        columns = {column.name for column in table.table.columns} & set(remembered)
        self._duplicates = Duplicates(table, topic, room) if HASH in columns else None
        self._sessions = Sessions(table, topic, room.folder) if MADE in columns else None

    def tell(self, rows: pa.Table, next_of: Callable[[int], int]) -> Told:
        """The rows without copies and with sessions; nothing is remembered of them yet."""
        sifted = self._duplicates.sift(rows, next_of) if self._duplicates else Sifted(rows, [])
        if self._sessions is None:
            return Told(sifted, Given(sifted.rows))
        return Told(sifted, self._sessions.give(sifted.rows, next_of))

    def learn(self, told: Told, moves: Mapping[int, Move]) -> None:
        """The batch is in the table."""
        if self._duplicates:
            self._duplicates.learn(told.sifted, moves)
        if self._sessions:
            self._sessions.learn(told.given, moves)

    @property
    def pieces(self) -> int:
        """How many pieces of the table were read back so far."""
        return sum(part.memory.pieces for part in (self._duplicates, self._sessions) if part)

    def hold(self, partitions: Iterable[int]) -> None:
        """These are the worker's from now on."""
        held = frozenset(partitions)
        for part in (self._duplicates, self._sessions):
            if part:
                part.memory.hold(held)
