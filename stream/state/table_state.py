"""What a drain knows of the rows before a batch: their ids, and the sessions of their visitors."""

from collections.abc import Callable, Collection, Iterable, Mapping

import pyarrow as pa
from msgspec import Struct

from stream.rows.quarantine import QuarantineEntry
from stream.state.deduplication import EVENT_HASH, DeduplicatedBatch, Deduplication
from stream.state.memory_budget import MemoryBudget
from stream.state.sessionizer import DERIVED_COLUMN, SessionizedBatch, Sessionizer
from stream.storage.delta_commit import LakeTable, OffsetUpdate

STATE_COLUMNS = frozenset((EVENT_HASH, DERIVED_COLUMN))
"""The columns that are filled from what is known of the rows before."""


class ResolvedBatch(Struct, frozen=True):
    """A batch in the light of what was before it."""

    deduplicated: DeduplicatedBatch
    sessionized: SessionizedBatch

    @property
    def rows(self) -> pa.Table:
        """What is to be stored."""
        return self.sessionized.rows

    @property
    def duplicates(self) -> list[QuarantineEntry]:
        """A note about each item that was stored before."""
        return self.deduplicated.duplicates


class TableState:
    """Of one table's topic partitions."""

    def __init__(
        self,
        table: LakeTable,
        topic: str,
        memory_budget: MemoryBudget,
        remembered: Collection[str] = STATE_COLUMNS,
    ) -> None:
        columns = {column.name for column in table.table.columns} & set(remembered)
        self._duplicates = (
            Deduplication(table, topic, memory_budget) if EVENT_HASH in columns else None
        )
        self._sessions = (
            Sessionizer(table, topic, memory_budget.folder) if DERIVED_COLUMN in columns else None
        )

    def resolve(self, rows: pa.Table, next_of: Callable[[int], int]) -> ResolvedBatch:
        """The rows without copies and with sessions; nothing is remembered of them yet."""
        sifted = (
            self._duplicates.deduplicate(rows, next_of)
            if self._duplicates
            else DeduplicatedBatch(rows, [])
        )
        if self._sessions is None:
            return ResolvedBatch(sifted, SessionizedBatch(sifted.rows))
        return ResolvedBatch(sifted, self._sessions.assign_sessions(sifted.rows, next_of))

    def commit(self, told: ResolvedBatch, moves: Mapping[int, OffsetUpdate]) -> None:
        """The batch is in the table."""
        if self._duplicates:
            self._duplicates.commit(told.deduplicated, moves)
        if self._sessions:
            self._sessions.commit(told.sessionized, moves)

    @property
    def files_scanned(self) -> int:
        """How many pieces of the table were read back so far."""
        return sum(part.state.files_scanned for part in (self._duplicates, self._sessions) if part)

    def assign(self, partitions: Iterable[int]) -> None:
        """These are the worker's from now on."""
        held = frozenset(partitions)
        for part in (self._duplicates, self._sessions):
            if part:
                part.state.assign(held)
