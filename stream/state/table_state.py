"""The state of one table's partitions: deduplication and sessions."""

from collections.abc import Callable, Collection, Iterable, Mapping

import pyarrow as pa
from msgspec import Struct

from stream.rows.quarantine import QuarantineEntry
from stream.state.deduplication import DeduplicatedBatch, Deduplication
from stream.state.derived_event_hashes import EVENT_HASH
from stream.state.id_index import MemoryBudget
from stream.state.sessionizer import DERIVED_COLUMN, SessionizedBatch, Sessionizer
from stream.storage.delta_commit import LakeTable, OffsetUpdate

STATE_COLUMNS = frozenset((EVENT_HASH, DERIVED_COLUMN))
"""The columns that are computed from the rows before a batch."""


class ResolvedBatch(Struct, frozen=True):
    """A batch after deduplication and session assignment."""

    deduplicated: DeduplicatedBatch
    sessionized: SessionizedBatch

    @property
    def rows(self) -> pa.Table:
        """The rows to store."""
        return self.sessionized.rows

    @property
    def duplicates(self) -> list[QuarantineEntry]:
        """The quarantine entries of the duplicates."""
        return self.deduplicated.duplicates


class TableState:
    """Deduplication and sessions of one table's topic partitions, where it has their columns."""

    def __init__(
        self,
        table: LakeTable,
        topic: str,
        memory_budget: MemoryBudget,
        state_columns: Collection[str] = STATE_COLUMNS,
        of_imports: bool = False,
    ) -> None:
        columns = {column.name for column in table.table.columns} & set(state_columns)
        self._duplicates = (
            Deduplication(table, topic, memory_budget, of_imports)
            if EVENT_HASH in columns
            else None
        )
        self._sessions = (
            Sessionizer(table, topic, memory_budget.folder) if DERIVED_COLUMN in columns else None
        )

    def resolve(self, rows: pa.Table, next_offset: Callable[[int], int]) -> ResolvedBatch:
        """The rows without duplicates and with sessions; the state changes by `commit` only."""
        deduplicated = (
            self._duplicates.deduplicate(rows, next_offset)
            if self._duplicates
            else DeduplicatedBatch(rows, [])
        )
        if self._sessions is None:
            return ResolvedBatch(deduplicated, SessionizedBatch(deduplicated.rows))
        return ResolvedBatch(
            deduplicated, self._sessions.assign_sessions(deduplicated.rows, next_offset)
        )

    def commit(self, resolved: ResolvedBatch, offset_updates: Mapping[int, OffsetUpdate]) -> None:
        """Add a batch that was committed to the state."""
        if self._duplicates:
            self._duplicates.commit(resolved.deduplicated, offset_updates)
        if self._sessions:
            self._sessions.commit(resolved.sessionized, offset_updates)

    @property
    def files_scanned(self) -> int:
        """How many data files were scanned so far to rebuild state."""
        return sum(part.state.files_scanned for part in (self._duplicates, self._sessions) if part)

    def assign(self, partitions: Iterable[int]) -> None:
        """Set the partitions that are assigned to this worker."""
        assigned = frozenset(partitions)
        for part in (self._duplicates, self._sessions):
            if part:
                part.state.assign(assigned)
