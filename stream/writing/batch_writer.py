"""Writes one batch: decode, enrich, deduplicate, write, commit; and each way that can fail.

| failure                                 | reaction                                          |
|-----------------------------------------|---------------------------------------------------|
| a chunk, envelope or item is unreadable | it is quarantined; everything else is stored      |
| a step or a column fails on a row       | that row is quarantined                           |
| the table holds the item already        | it is a duplicate, with an entry that says so     |
| its import was deleted                  | it is dropped, also when it was counted as stored |
| the disk or the lake refuses            | the batch is retried, then the process ends       |
| another worker stored these offsets     | fenced: the process ends                          |
| offsets are missing before the batch    | offset gap: the process ends                      |

A process that ends loses nothing: after its restart it reads from the table's next offsets.
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
from stream.enrich.pipeline import PIPELINE, Pipeline, enrich_rows
from stream.enrich.rules.lookups import Lookups
from stream.rows.arrow_tables import to_arrow, with_epoch
from stream.rows.decoder import KafkaMessage, decode_batch
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import (
    OffsetRange,
    QuarantineEntry,
    lost_range_entry,
    recreated_topic_entry,
)
from stream.rows.row_batch import RowBatch
from stream.runtime.allocator import trim_memory
from stream.runtime.errors import OffsetGap, RetriesExhausted, TopicReplaced
from stream.state.memory_budget import MemoryBudget
from stream.state.table_state import STATE_COLUMNS, TableState
from stream.storage.delta_commit import LakeTable, OffsetUpdate, OffsetUpdates
from stream.writing.ledger_repair import rebuild_ledger
from stream.writing.side_tables import (
    BatchOffsets,
    commit_ledger,
    commit_quarantine,
    next_offsets,
    write_files,
)
from stream.writing.topic_epochs import assign_epoch, previous_topic

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 5

LARGE_ITEM_BYTES = 4_096
"""Mean bytes of an item above which free memory is returned after a batch: large items leave it
fragmented, and the next batch could not use it."""


class WriteResult(Struct, frozen=True):
    """Counts of a stored batch, and the table's next offsets after it."""

    rows: int
    quarantined: int
    next_offsets: Mapping[int, int]
    """By topic partition."""
    duplicates: int = 0


class FilteredRows(Struct, frozen=True):
    """The rows to store, and updates of import watermarks for the same commit."""

    rows: RowBatch
    watermarks: OffsetUpdates = {}


class PreparedBatch(Struct, frozen=True):
    """The rows of a batch in the table's schema, and the entries of those that failed."""

    table: pa.Table
    quarantined: Sequence[QuarantineEntry]
    watermarks: OffsetUpdates


class BatchWriter:
    """Stores the batches of one item kind, one at a time."""

    pipeline: Pipeline = PIPELINE
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
        """The topic epoch that the offsets belong to; it counts recreations of the topic."""
        self.identity: TopicIdentity | None = None
        """The assigned topic's id; None before the first assignment, or when Kafka reports none."""
        self.lost_ranges: dict[int, OffsetRange] = {}
        """Offsets that Kafka had deleted when the partition was assigned, by partition."""
        self.previous_topics: dict[int, tuple[int, int]] = {}
        """Epoch and next offset of the topic before the recreation, by partition."""
        self._settings = settings
        self._lookups = lookups
        self._on_step = on_step
        """Called with the name of each completed step; tests crash the writer there."""
        self._main = LakeTable(settings, kind.table)
        self._quarantine = LakeTable(settings, QUARANTINE)
        self._ledger = LakeTable(settings, LEDGER)
        memory_budget = memory_budget or MemoryBudget.of(settings)
        self._state = TableState(self._main, self.topic, memory_budget, self.state_columns)

    def assign_epoch(self, identity: TopicIdentity | None, end_offsets: Mapping[int, int]) -> None:
        """Determine the epoch of the topic that Kafka has, before anything is read of it.

        `end_offsets` are Kafka's, by assigned partition.
        """
        if self.identity is not None and identity != self.identity:
            raise TopicReplaced(f"{self.topic} was recreated: its id is {identity} now")
        table = LakeTable(self._settings, self.kind.table)
        epoch = assign_epoch(table, self.topic, identity, end_offsets, self._settings)
        self.identity, self.epoch = identity, epoch.number
        for partition in end_offsets:
            if not table.next_offset(self._offset_key(partition)):
                previous = previous_topic(table, self.topic, self.epoch, partition)
                if previous:
                    self.previous_topics[partition] = previous
        if epoch.is_new:
            log.error(
                "the topic was recreated; acknowledged messages that were not read yet are lost",
                extra={"topic": self.topic, "epoch": self.epoch, "read": self.previous_topics},
            )

    def next_offsets(self, partitions: Iterable[int]) -> dict[int, int]:
        """The table's next offset of each newly assigned partition.

        Uses its own table handle: a batch may be running in another thread.
        """
        table = LakeTable(self._settings, self.kind.table)
        starts = next_offsets(table, self.topic, self.epoch, partitions)
        self._state.assign(starts)
        self.catch_up_ledger(self._settings, table, self.topic, self.epoch, starts)
        return starts

    @property
    def files_scanned(self) -> int:
        """How many data files were scanned so far to rebuild state."""
        return self._state.files_scanned

    def write(self, messages: Sequence[KafkaMessage]) -> WriteResult:
        """Store a batch completely and exactly once; FatalError when that is not possible.

        Messages that the table holds already are skipped, so that a batch may be repeated.
        """
        for attempt in range(MAX_ATTEMPTS):
            try:
                result = self._write_batch(messages)
                if sum(len(message.body) for message in messages) > LARGE_ITEM_BYTES * result.rows:
                    trim_memory()
                return result
            except (OSError, DeltaError) as error:
                log.warning(
                    "batch write retried",
                    extra={"topic": self.topic, "attempt": attempt + 1, "reason": str(error)},
                )
                time.sleep(0.2 * 2**attempt)
        raise RetriesExhausted(f"{self.topic}: batch not stored after {MAX_ATTEMPTS} attempts")

    def _write_batch(self, messages: Sequence[KafkaMessage]) -> WriteResult:
        self._main.refresh()
        self._ledger.refresh()
        new_messages, offset_updates, quarantined = self._new_messages(messages)
        if not new_messages:
            return WriteResult(0, 0, {})
        offsets = BatchOffsets(self.topic, self.epoch, offset_updates)
        counts = LedgerCounts(offsets.next_offsets(self._ledger))
        prepared = self._to_batch(new_messages, counts)
        resolved = self._state.resolve(
            prepared.table, lambda p: self._main.next_offset(self._offset_key(p))
        )
        table = self._to_stored(resolved.rows, counts)
        quarantined += prepared.quarantined
        for entry in quarantined:
            counts.add_quarantined(entry)
        for duplicate in resolved.duplicates:
            counts.add_duplicate(
                duplicate.subject_id, duplicate.received_ms, duplicate.partition, duplicate.offset
            )
        self._on_step("enrich")
        commit_quarantine(self._quarantine, [*quarantined, *resolved.duplicates], offsets)
        self._on_step("quarantine")
        commit_ledger(self._ledger, counts, offsets, table.num_rows)
        self._on_step("ledger")
        data_files = write_files(self._main, table)
        self._on_step("write")
        self._main.commit(data_files, {**offsets.by_key(), **prepared.watermarks})
        self._on_step("commit")
        self._state.commit(resolved, offset_updates)
        for partition in offset_updates:
            self.lost_ranges.pop(partition, None)
            self.previous_topics.pop(partition, None)
        nexts = {partition: update.next for partition, update in offset_updates.items()}
        return WriteResult(table.num_rows, len(quarantined), nexts, len(resolved.duplicates))

    def _to_batch(
        self, new_messages: Sequence[KafkaMessage], counts: LedgerCounts
    ) -> PreparedBatch:
        """The rows of the messages as an Arrow table; intermediate values are freed on return."""
        decoded = decode_batch(self.kind, new_messages, counts)
        filtered = self._filter(decoded.rows, counts)
        rows, failed = enrich_rows(filtered.rows, self._lookups, self.pipeline)
        table, unconvertible = to_arrow(rows)
        quarantined = [*decoded.quarantined, *failed, *unconvertible]
        return PreparedBatch(with_epoch(table, self.epoch), quarantined, filtered.watermarks)

    def _filter(self, rows: RowBatch, counts: LedgerCounts) -> FilteredRows:  # noqa: ARG002
        """Remove duplicates that are known before enrichment, and count them."""
        return FilteredRows(rows)

    def _to_stored(self, table: pa.Table, counts: LedgerCounts) -> pa.Table:  # noqa: ARG002
        """The rows to store, under the identity that they have in the table."""
        return table

    def _new_messages(
        self, messages: Sequence[KafkaMessage]
    ) -> tuple[list[KafkaMessage], dict[int, OffsetUpdate], list[QuarantineEntry]]:
        """The messages that the table does not hold, their offsets, and entries of lost ranges."""
        new_messages: list[KafkaMessage] = []
        starts: dict[int, int] = {}
        end_offsets: dict[int, int] = {}
        entries: list[QuarantineEntry] = []
        for message in sorted(messages, key=lambda m: (m.partition, m.offset)):
            partition, offset = message.partition, message.offset
            if partition not in starts:
                starts[partition] = end_offsets[partition] = self._main.next_offset(
                    self._offset_key(partition)
                )
                if not starts[partition] and partition in self.previous_topics:
                    previous = self.previous_topics[partition]
                    timestamp_ms = message.timestamp_ms
                    entries.append(
                        recreated_topic_entry(partition, *previous, offset, timestamp_ms)
                    )
            if offset < end_offsets[partition]:
                continue
            if offset > end_offsets[partition]:
                entries.append(self._lost_range_entry(message, end_offsets[partition]))
            new_messages.append(message)
            end_offsets[partition] = offset + 1
        offset_updates = {
            p: OffsetUpdate(starts[p], end_offsets[p]) for p in starts if end_offsets[p] > starts[p]
        }
        return new_messages, offset_updates, entries

    def _lost_range_entry(self, message: KafkaMessage, expected: int) -> QuarantineEntry:
        """The entry of deleted messages; OffsetGap when Kafka did not report them as deleted."""
        lost_range = self.lost_ranges.get(message.partition)
        if lost_range is None or (lost_range.first, lost_range.next) != (expected, message.offset):
            raise OffsetGap(
                f"{self.topic}/{message.partition}: offset {message.offset} came, "
                f"{expected} was expected"
            )
        return lost_range_entry(message.partition, expected, message.offset, message.timestamp_ms)

    def _offset_key(self, partition: int) -> str:
        return app_id(self.epoch, self.topic, partition)
