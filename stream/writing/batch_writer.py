"""Writes one batch: decode, enrich, deduplicate, write, commit; and each way that can fail.

| failure                                 | reaction                                          |
|-----------------------------------------|---------------------------------------------------|
| a chunk, envelope or item is unreadable | it is quarantined; everything else is stored      |
| a step or a column fails on a row       | that row is quarantined                           |
| the table holds the item already        | it is a duplicate, with an entry that says so     |
| its import was deleted                  | it is dropped, also when it was counted as stored |
| its visitor was erased                  | the same                                          |
| a shield of its website matches it      | it is dropped before deduplication                |
| it is sent again from the quarantine    | it leaves the quarantine, unless it is stored     |
| the disk or the lake refuses            | the batch is retried, then the process ends       |
| another worker stored these offsets     | fenced: the process ends                          |
| offsets are missing before the batch    | offset gap: the process ends                      |

A process that ends loses nothing: after its restart it reads from the table's next offsets.

A batch takes three commits, and no transaction spans two Delta tables. Their order makes them safe:
quarantine, ledger, then the main table (the one with the items). Only the main table's next offsets
decide where reading resumes, so they move last. After a crash before that commit, the batch is read
again; the quarantine and the ledger have next offsets of their own and add only the entries that
they lack. If the main table were committed first, a crash would leave rows without their ledger
entries and quarantined items that no table has, and nothing would read those messages again. For
the same reason a batch without any row is committed to the main table, too.

The quarantine comes before the ledger, so that the ledger never counts an entry that is missing.
Between the commits the side tables are ahead of the main table; who sums them up leaves out what is
above its next offsets (`recovery/ledger_balance.py`).
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.kinds import Kind
from schemas.lake.committed_offsets import app_id
from schemas.lake.topic_identity import TopicIdentity
from schemas.registry.privacy import DROP_REASONS
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE
from schemas.telemetry.instruments import (
    DROPPED_ITEMS,
    QUARANTINED_ITEMS,
    STORED_ROWS,
    start_at_zero,
)
from stream.enrich.rules.lookups import Lookups
from stream.rows.erased_rows import ERASED_REASON, without_erased_payloads
from stream.rows.kafka_message import KafkaMessage
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import OffsetRange, QuarantineEntry, QuarantineStage
from stream.runtime.allocator import trim_memory
from stream.runtime.errors import RetriesExhausted, TopicReplaced
from stream.state.id_index import MemoryBudget
from stream.state.table_state import TableState
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_preparation import prepare_batch
from stream.writing.erased_items import drop_erased
from stream.writing.new_messages import ExplainedGaps, find_new_messages
from stream.writing.quarantine_replays import find_replays
from stream.writing.shielded_rows import SHIELD, metric_label
from stream.writing.side_tables import (
    BatchOffsets,
    commit_ledger,
    commit_quarantine,
    next_offsets,
    write_files,
)
from stream.writing.topic_epochs import assign_epoch, previous_topic
from stream.writing.writer_role import LIVE_WRITER, CommittedOffsets, WriterRole

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 5
RETRY_SECONDS = 0.2
"""Pause after the first failed attempt; each further one is twice as long."""

LARGE_ITEM_BYTES = 4_096
"""Mean bytes of an item above which free memory is returned after a batch: large items leave it
fragmented, and the next batch could not use it."""


class WriteResult(Struct, frozen=True):
    """Counts of a stored batch, and the table's next offsets after it."""

    rows: int
    quarantined: int
    next_offsets: Mapping[int, int]
    """Next offsets by partition."""
    duplicates: int = 0


class BatchWriter:
    """Stores the batches of one item kind, one at a time."""

    def __init__(
        self,
        settings: Settings,
        kind: Kind,
        lookups: Lookups,
        on_step: Callable[[str], None] = lambda step: None,  # noqa: ARG005
        memory_budget: MemoryBudget | None = None,
        role: WriterRole = LIVE_WRITER,
    ) -> None:
        self.kind = kind
        self.topic = settings.topic(kind.topic)
        self.epoch = settings.ingest_epoch
        """The topic epoch that the offsets belong to; it counts recreations of the topic."""
        self.topic_identity: TopicIdentity | None = None
        """The assigned topic's id; None before the first assignment, or when Kafka reports none."""
        self._role = role
        self._gaps = ExplainedGaps()
        self._settings = settings
        self._lookups = lookups
        self._on_step = on_step
        """Called after enrichment, the data files and each commit; tests crash the writer there."""
        self._main = LakeTable(settings, kind.table)
        self._assigning: LakeTable | None = None
        """Opened by `assign_topic`, for `assign_partitions`."""
        self._quarantine = LakeTable(settings, QUARANTINE)
        self._ledger = LakeTable(settings, LEDGER)
        start_at_zero(DROPPED_ITEMS, (*role.drop_reasons, ERASED_REASON, SHIELD, *DROP_REASONS))
        start_at_zero(QUARANTINED_ITEMS, [self.topic], QuarantineStage)
        start_at_zero(STORED_ROWS, [self.topic], ("stored", "duplicate", "quarantined"))
        memory_budget = memory_budget or MemoryBudget.of(settings)
        self._state = TableState(
            self._main, self.topic, memory_budget, role.state_columns, role.of_imports
        )

    def assign_topic(
        self, topic_identity: TopicIdentity | None, end_offsets: Mapping[int, int]
    ) -> None:
        """Determine the epoch of the topic that Kafka has, before anything is read of it.

        `end_offsets` are Kafka's, by assigned partition.
        """
        if self.topic_identity is not None and topic_identity != self.topic_identity:
            raise TopicReplaced(f"{self.topic} was recreated: its id is {topic_identity} now")
        main = self._assigning = LakeTable(self._settings, self.kind.table)
        epoch = assign_epoch(main, self.topic, topic_identity, end_offsets, self._settings)
        self.topic_identity, self.epoch = topic_identity, epoch.number
        for partition in end_offsets:
            if not main.next_offset(app_id(self.epoch, self.topic, partition)):
                previous = previous_topic(main, self.topic, self.epoch, partition)
                if previous:
                    self._gaps.add_previous_topic(partition, *previous)
        if epoch.is_new:
            previous_topics = self._gaps.previous_topics
            log.error(
                "the topic was recreated; acknowledged messages that were not read yet are lost",
                extra={"topic": self.topic, "epoch": self.epoch, "read": previous_topics},
            )

    def assign_partitions(self, partitions: Iterable[int]) -> dict[int, int]:
        """Set the partitions that are assigned to this worker; returns their next offsets.

        The state of other partitions is dropped. Uses the table handle of `assign_topic`, or a new
        one: a batch may be running in another thread.
        """
        main = self._assigning or LakeTable(self._settings, self.kind.table)
        self._assigning = None
        starts = next_offsets(main, self.topic, self.epoch, partitions)
        self._state.assign(starts)
        return starts

    def catch_up_ledger(self, ledger: LakeTable, starts: Mapping[int, int]) -> None:
        """Rebuild what a ledger, read after `assign_partitions`, has less than the table."""
        self._role.catch_up_ledger(
            self._settings, self.kind.table, ledger, self.topic, self.epoch, starts
        )

    def add_lost_range(self, partition: int, lost: OffsetRange) -> None:
        """Record messages that Kafka deleted before they were read, for the next batch."""
        self._gaps.add_lost_range(partition, lost)

    @property
    def files_scanned(self) -> int:
        """How many data files were scanned so far to rebuild state."""
        return self._state.files_scanned

    def write(self, messages: Sequence[KafkaMessage]) -> WriteResult:
        """Store a batch completely and exactly once; FatalError when that is not possible.

        Messages that the table holds already are skipped, so that a batch may be repeated.
        """
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                result = self._write_batch(messages)
                if sum(message.size for message in messages) > LARGE_ITEM_BYTES * result.rows:
                    trim_memory()
                return result
            except (OSError, DeltaError) as error:
                log.warning(
                    "batch write failed",
                    extra={"topic": self.topic, "attempt": attempt, "reason": str(error)},
                )
            if attempt < MAX_ATTEMPTS:
                time.sleep(RETRY_SECONDS * 2 ** (attempt - 1))
        raise RetriesExhausted(f"{self.topic}: batch not stored after {MAX_ATTEMPTS} attempts")

    def _write_batch(self, messages: Sequence[KafkaMessage]) -> WriteResult:
        self._main.refresh()
        self._ledger.refresh()
        committed = CommittedOffsets(self.topic, self.epoch, self._main, self._ledger)
        new = find_new_messages(messages, committed, self._gaps)
        if not new.messages:
            return WriteResult(0, 0, {})
        offsets = BatchOffsets(self.topic, self.epoch, new.offset_updates)
        counts = LedgerCounts(offsets.next_offsets(self._ledger))
        prepared = prepare_batch(
            self.kind, new.messages, self._lookups, self._role, committed, counts
        )
        resolved = self._state.resolve(prepared.rows, committed.next_offset)
        # Rows are dropped last: see `backfill_writer`.
        tombstones = self._lookups.tombstones()
        rows = drop_erased(resolved.rows, self.kind.table, tombstones, committed, counts)
        rows = self._role.finish_rows(rows, committed, counts)
        replays = find_replays(prepared.replayed, resolved.duplicates)
        quarantined = without_erased_payloads([*new.quarantined, *prepared.quarantined], tombstones)
        duplicates = without_erased_payloads(replays.duplicates, tombstones)
        for entry in [*quarantined, *replays.replayed]:
            counts.add_quarantined(entry)
        for duplicate in duplicates:
            counts.add_duplicate(
                duplicate.subject_id, duplicate.received_ms, duplicate.partition, duplicate.offset
            )
        self._on_step("enrich")
        # The main table is committed last: see the order of the commits above.
        side_entries = [*quarantined, *replays.replayed, *duplicates]
        commit_quarantine(self._quarantine, side_entries, offsets)
        self._on_step("quarantine")
        commit_ledger(self._ledger, counts, offsets, rows.num_rows)
        self._on_step("ledger")
        data_files = write_files(self._main, rows)
        self._on_step("write")
        self._main.commit(data_files, {**offsets.by_key(), **prepared.watermarks})
        self._on_step("commit")
        for entry in quarantined:
            QUARANTINED_ITEMS.labels(self.topic, entry.stage.value).inc()
        log_quarantined(self.topic, quarantined, new.messages)
        for reason, dropped in counts.dropped_by_reason().items():
            DROPPED_ITEMS.labels(metric_label(reason)).inc(dropped)
        self._state.commit(resolved, new.offset_updates)
        self._gaps.forget(new.offset_updates)
        nexts = {partition: update.next for partition, update in new.offset_updates.items()}
        return WriteResult(rows.num_rows, len(quarantined), nexts, len(resolved.duplicates))


def log_quarantined(
    topic: str, entries: Sequence[QuarantineEntry], messages: Sequence[KafkaMessage]
) -> None:
    """One line for each Kafka message with quarantined items.

    Only the kind of the first error: the rest of its text may hold what visitors sent, and is in
    the table.
    """
    if not entries:
        return
    ids = {(m.partition, m.offset): m.request_ids for m in messages if m.request_ids}
    items = Counter((entry.partition, entry.offset) for entry in entries)
    for entry in {(entry.partition, entry.offset): entry for entry in reversed(entries)}.values():
        at = entry.partition, entry.offset
        fields = {
            "topic": topic,
            "partition": entry.partition,
            "offset": entry.offset,
            "items": items[at],
            "stage": entry.stage.value,
            "error": entry.reason.partition(":")[0],
        }
        if at in ids:
            fields["request_ids"] = ids[at].decode(errors="replace")
        log.warning("items quarantined", extra=fields)
