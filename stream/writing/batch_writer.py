"""One batch: open → enrich → recall → write → commit → acknowledge, and each way it can fail.

| what happens                            | what is done                                   |
|-----------------------------------------|------------------------------------------------|
| a chunk, envelope or item is unreadable | quarantined; everything else is stored         |
| a step or a column fails on a row       | that row is quarantined                        |
| the table holds the item already        | it is a duplicate, and noted as one            |
| its import was undone                   | it is dropped, also when it was accounted for  |
| the disk or the lake refuses            | the batch again, a few times; then the end     |
| another worker stored these offsets     | fenced: the process ends                       |
| messages are missing in front of it     | the process ends, and asks the table once more |

A process that ends loses nothing: on its return it reads on from the table's next offsets.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import pyarrow as pa
from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.kinds import Kind
from schemas.lake.committed_offsets import app_id
from schemas.lake.topic_identity import TopicIdentity
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE
from stream.enrich.pipeline import PIPELINE, Step, enrich_rows
from stream.enrich.rules.lookups import Lookups
from stream.rows.arrow_tables import received_column, split_by_day, to_arrow, with_epoch
from stream.rows.decoder import KafkaMessage, decode_batch
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import (
    OffsetRange,
    QuarantineEntry,
    QuarantineStage,
    lost_range_entry,
    quarantine_rows,
    recreated_topic_entry,
)
from stream.rows.row_batch import RowBatch
from stream.runtime.allocator import trim_memory
from stream.runtime.errors import LedgerMismatch, OffsetGap, RetriesExhausted, TopicReplaced
from stream.state.memory_budget import MemoryBudget
from stream.state.table_state import STATE_COLUMNS, TableState
from stream.storage.delta_commit import LakeTable, OffsetUpdate, OffsetUpdates
from stream.storage.parquet_writer import NewDataFile, write_data_file
from stream.writing.ledger_repair import rebuild_ledger
from stream.writing.topic_epochs import assign_epoch, previous_topic

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 5

LARGE_ITEM_BYTES = 4_096
"""Bytes of an item: where they have more, the memory of a batch is given back. What large items
leave free lies scattered, and the next batch finds no room in it."""


class WriteResult(Struct, frozen=True):
    """What came of a batch."""

    rows: int
    quarantined: int
    next_offsets: Mapping[int, int]
    """By topic partition."""
    duplicates: int = 0


class FilteredRows(Struct, frozen=True):
    """The rows that are to be stored, and what else their commit moves."""

    rows: RowBatch
    watermarks: OffsetUpdates = {}


class PreparedBatch(Struct, frozen=True):
    """The rows of a batch as the table has them, and what became none."""

    table: pa.Table
    quarantined: Sequence[QuarantineEntry]
    watermarks: OffsetUpdates


class BatchWriter:
    """Stores the batches of one kind, one at a time."""

    pipeline: Mapping[str, Step] = PIPELINE
    state_columns: Collection[str] = STATE_COLUMNS
    catch_up_ledger = staticmethod(rebuild_ledger)

    def __init__(
        self,
        settings: Settings,
        kind: Kind,
        lookups: Lookups,
        on_step: Callable[[str], None] = lambda step: None,  # noqa: ARG005
        memory_budget: MemoryBudget | None = None,
    ) -> None:
        self.kind = kind
        self.topic = settings.topic(kind.topic)
        self.epoch = settings.ingest_epoch
        """Which making of the topic the offsets count in."""
        self.identity: TopicIdentity | None = None
        """Of the topic that was assigned; None when nothing was, or when Kafka tells none."""
        self.lost_ranges: dict[int, OffsetRange] = {}
        """By topic partition: what Kafka no longer has, as found when it was assigned."""
        self.previous_topics: dict[int, tuple[int, int]] = {}
        """By topic partition: epoch and next offset of the topic that was there before."""
        self._settings = settings
        self._lookups = lookups
        self._on_step = on_step
        """Called with the name of each step that is done; tests stop the world there."""
        self._main = LakeTable(settings, kind.table)
        self._quarantine = LakeTable(settings, QUARANTINE)
        self._ledger = LakeTable(settings, LEDGER)
        memory_budget = memory_budget or MemoryBudget.of(settings)
        self._state = TableState(self._main, self.topic, memory_budget, self.state_columns)

    def assign_epoch(self, identity: TopicIdentity | None, ends: Mapping[int, int]) -> None:
        """Find the epoch of the topic that Kafka has, before anything is read of it.

        `ends` are Kafka's, by topic partition that was assigned.
        """
        if self.identity is not None and identity != self.identity:
            raise TopicReplaced(f"{self.topic} is another topic by now: {identity}")
        table = LakeTable(self._settings, self.kind.table)
        found = assign_epoch(table, self.topic, identity, ends, self._settings)
        self.identity, self.epoch = identity, found.number
        for partition in ends:
            if not table.next_offset(self._offset_key(partition)):
                before = previous_topic(table, self.topic, self.epoch, partition)
                if before:
                    self.previous_topics[partition] = before
        if found.is_new:
            log.error(
                "the topic was made anew; what collectors acknowledged and nobody read is lost",
                extra={"topic": self.topic, "epoch": self.epoch, "read": self.previous_topics},
            )

    def next_offsets(self, partitions: Iterable[int]) -> dict[int, int]:
        """By topic partition, the first offset that the table does not hold; when it is assigned.

        On a handle of its own: a batch may be under way in another thread.
        """
        table = LakeTable(self._settings, self.kind.table)
        nexts = {
            partition: table.next_offset(self._offset_key(partition)) for partition in partitions
        }
        self._state.assign(nexts)
        self.catch_up_ledger(self._settings, table, self.topic, self.epoch, nexts)
        return nexts

    @property
    def files_scanned(self) -> int:
        """How many pieces of the table were read back so far."""
        return self._state.files_scanned

    def write(self, arrived: Sequence[KafkaMessage]) -> WriteResult:
        """Store a batch, whole and once; Surprise when that is not possible.

        Messages that the table holds already are passed over, so that a batch may be given again.
        """
        for attempt in range(MAX_ATTEMPTS):
            try:
                stored = self._write_batch(arrived)
                if sum(len(message.body) for message in arrived) > LARGE_ITEM_BYTES * stored.rows:
                    trim_memory()
                return stored
            except (OSError, DeltaError) as refused:
                log.warning(
                    "batch tried again",
                    extra={"topic": self.topic, "attempt": attempt + 1, "reason": str(refused)},
                )
                time.sleep(0.2 * 2**attempt)
        raise RetriesExhausted(f"{self.topic}: batch not stored in {MAX_ATTEMPTS} tries")

    def _write_batch(self, arrived: Sequence[KafkaMessage]) -> WriteResult:
        self._main.refresh()
        self._ledger.refresh()
        fresh, moves, refused = self._new_messages(arrived)
        if not fresh:
            return WriteResult(0, 0, {})
        tally = LedgerCounts(self._next_offsets(self._ledger, moves))
        fitted = self._to_batch(fresh, tally)
        told = self._state.resolve(
            fitted.table, lambda p: self._main.next_offset(self._offset_key(p))
        )
        table = self._to_stored(told.rows, tally)
        refused += fitted.quarantined
        for item in refused:
            tally.add_quarantined(item)
        for copy in told.duplicates:
            tally.add_duplicate(copy.subject_id, copy.received_ms, copy.partition, copy.offset)
        self._on_step("enrich")
        self._commit_quarantine([*refused, *told.duplicates], moves)
        self._on_step("quarantine")
        self._commit_ledger(tally, moves, table.num_rows)
        self._on_step("ledger")
        parts = self._write_files(self._main, table)
        self._on_step("write")
        named = {self._offset_key(p): move for p, move in moves.items()}
        self._main.commit(parts, {**named, **fitted.watermarks})
        self._on_step("commit")
        self._state.commit(told, moves)
        for partition in moves:
            self.lost_ranges.pop(partition, None)
            self.previous_topics.pop(partition, None)
        nexts = {partition: move.next for partition, move in moves.items()}
        return WriteResult(table.num_rows, len(refused), nexts, len(told.duplicates))

    def _to_batch(self, fresh: Sequence[KafkaMessage], tally: LedgerCounts) -> PreparedBatch:
        """The rows of the messages; nothing else of what was made on the way stays in memory."""
        opened = decode_batch(self.kind, fresh, tally)
        sifted = self._filter(opened.rows, tally)
        rows, failed = enrich_rows(sifted.rows, self._lookups, self.pipeline)
        table, unfit = to_arrow(rows)
        refused = [*opened.quarantined, *failed, *unfit]
        return PreparedBatch(with_epoch(table, self.epoch), refused, sifted.watermarks)

    def _filter(self, rows: RowBatch, tally: LedgerCounts) -> FilteredRows:  # noqa: ARG002
        """Leave out what is a copy, and tell the tally."""
        return FilteredRows(rows)

    def _to_stored(self, table: pa.Table, tally: LedgerCounts) -> pa.Table:  # noqa: ARG002
        """What is to be stored, under the identity that it has in the table."""
        return table

    def _new_messages(
        self, arrived: Sequence[KafkaMessage]
    ) -> tuple[list[KafkaMessage], dict[int, OffsetUpdate], list[QuarantineEntry]]:
        """The messages that the table does not hold, without a hole; what is known to be lost."""
        fresh: list[KafkaMessage] = []
        starts: dict[int, int] = {}
        ends: dict[int, int] = {}
        notes: list[QuarantineEntry] = []
        for message in sorted(arrived, key=lambda m: (m.partition, m.offset)):
            partition, offset = message.partition, message.offset
            if partition not in starts:
                starts[partition] = ends[partition] = self._main.next_offset(
                    self._offset_key(partition)
                )
                if not starts[partition] and partition in self.previous_topics:
                    before = self.previous_topics[partition]
                    stamp = message.timestamp_ms
                    notes.append(recreated_topic_entry(partition, *before, offset, stamp))
            if offset < ends[partition]:
                continue
            if offset > ends[partition]:
                notes.append(self._lost_range_entry(message, ends[partition]))
            fresh.append(message)
            ends[partition] = offset + 1
        moves = {p: OffsetUpdate(starts[p], ends[p]) for p in starts if ends[p] > starts[p]}
        return fresh, moves, notes

    def _lost_range_entry(self, message: KafkaMessage, expected: int) -> QuarantineEntry:
        """The note about messages that are gone for good; a Hole when nothing says so."""
        lost = self.lost_ranges.get(message.partition)
        if lost is None or (lost.first, lost.next) != (expected, message.offset):
            raise OffsetGap(
                f"{self.topic}/{message.partition}: offset {message.offset} came, "
                f"{expected} was expected"
            )
        return lost_range_entry(message.partition, expected, message.offset, message.timestamp_ms)

    def _write_files(self, target: LakeTable, rows: pa.Table) -> list[NewDataFile]:
        return [
            write_data_file(target.store, target.table, day, of_day)
            for day, of_day in split_by_day(rows, received_column(target.table))
        ]

    def _commit_quarantine(
        self, refused: Sequence[QuarantineEntry], moves: Mapping[int, OffsetUpdate]
    ) -> None:
        """Commit what is not stored, leaving out what an earlier try has committed."""
        if not refused:
            return
        self._quarantine.refresh()
        since = self._next_offsets(self._quarantine, moves)
        new = [q for q in refused if q.offset >= since[q.partition]]
        bad = [q for q in new if q.stage is not QuarantineStage.DUPLICATE]
        if bad:
            log.warning(
                "quarantined",
                extra={"topic": self.topic, "rows": len(bad), "reason": bad[0].reason},
            )
        if new:
            self._commit_side_table(
                self._quarantine, quarantine_rows(self.topic, self.epoch, new), moves, {}
            )

    def _commit_ledger(
        self, tally: LedgerCounts, moves: Mapping[int, OffsetUpdate], stored: int
    ) -> None:
        """Commit the account, leaving out what an earlier try has committed."""
        since = self._next_offsets(self._ledger, moves)
        if (
            all(since[p] <= move.expected for p, move in moves.items())
            and tally.stored_count() != stored
        ):
            raise LedgerMismatch(
                f"{self.topic}: {stored} rows, {tally.stored_count()} by the account"
            )
        rows = tally.rows(self.topic, self.epoch)
        if rows.num_rows:
            self._commit_side_table(self._ledger, rows, moves, tally.known_drops)

    def _commit_side_table(
        self,
        side: LakeTable,
        rows: pa.Table,
        moves: Mapping[int, OffsetUpdate],
        told: OffsetUpdates,
    ) -> None:
        since = self._next_offsets(side, moves)
        ahead = {p: move for p, move in moves.items() if move.next > since[p]}
        named = {
            self._offset_key(p): OffsetUpdate(since[p], move.next) for p, move in ahead.items()
        }
        side.commit(self._write_files(side, rows), {**named, **told})

    def _next_offsets(self, table: LakeTable, moves: Mapping[int, OffsetUpdate]) -> dict[int, int]:
        """The table's own next offsets."""
        return {partition: table.next_offset(self._offset_key(partition)) for partition in moves}

    def _offset_key(self, partition: int) -> str:
        return app_id(self.epoch, self.topic, partition)
