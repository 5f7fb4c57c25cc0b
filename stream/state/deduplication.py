"""Deduplication: drops items that the table holds already, each with a quarantine entry."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.rows.arrow_tables import kept_rows
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.runtime.allocator import trim_memory
from stream.state.bloom_filter import Ids, Mask
from stream.state.derived_event_hashes import EVENT_HASH, scan_derived_hashes
from stream.state.id_index import (
    BUCKET_MS,
    SLACK_BUCKETS,
    WINDOW_BUCKETS,
    IdBucket,
    IdIndex,
    MemoryBudget,
    Numbers,
)
from stream.state.partition_state import PartitionStates
from stream.state.table_scan import PARTITION, RECEIVED_AT, scan_recent_rows, to_unix_ms
from stream.storage.delta_commit import LakeTable, OffsetUpdate

SAME_ID = "same eventId as an item received before"
SAME_REQUEST = "same Idempotency-Key and place as an item received before"
ENTRY_COLUMNS = ("event_id", PARTITION, "kafka_offset", "seq")


class PartitionIds(Struct, frozen=True):
    """The ids of a batch that belong to one topic partition, in batch order."""

    rows: Numbers
    """Indexes among the rows with an id."""
    ids: Ids
    buckets: Numbers


class IdColumn(Struct, frozen=True):
    """The ids of a batch, with the topic partition and id bucket of each."""

    rows: Numbers | None
    """Indexes in the batch of the rows with an id; None when all rows have one."""
    partitions: Numbers
    ids: Ids
    buckets: Numbers

    def by_partition(self) -> dict[int, PartitionIds]:
        """The ids by topic partition, by one sort: there are many rows and few partitions."""
        order = np.argsort(self.partitions.astype(np.uint16), kind="stable")
        partitions, ids, buckets = self.partitions[order], self.ids[order], self.buckets[order]
        starts = np.flatnonzero(np.diff(partitions, prepend=-1)).tolist()
        return {
            int(partitions[first]): PartitionIds(
                order[first:last], ids[first:last], buckets[first:last]
            )
            for first, last in zip(starts, [*starts[1:], len(order)], strict=True)
        }

    def row_indexes(self, selected: Mask) -> Numbers:
        """Indexes in the batch of the selected rows."""
        return np.flatnonzero(selected) if self.rows is None else self.rows[selected]


class DeduplicatedBatch(Struct, frozen=True):
    """A batch without its duplicates."""

    rows: pa.Table
    duplicates: list[QuarantineEntry]
    new_ids: Mapping[int, PartitionIds] = {}
    """Ids to add to the index when the batch is stored, by topic partition."""


class Deduplication:
    """Deduplicates the batches of one table by an id index per topic partition."""

    def __init__(
        self, table: LakeTable, topic: str, memory_budget: MemoryBudget, of_imports: bool = False
    ) -> None:
        """`of_imports`: the table has the rows of this topic under negative partitions."""
        self._table = table
        self._topic = topic
        self._of_imports = of_imports
        self._budget = memory_budget
        self.state: PartitionStates[IdIndex] = PartitionStates(f"ids of {topic}")

    def deduplicate(self, rows: pa.Table, next_offset: Callable[[int], int]) -> DeduplicatedBatch:
        """The batch without duplicates; its ids enter the index by `commit` only."""
        id_column = _id_column(rows)
        if id_column is None:
            return DeduplicatedBatch(rows, [])
        by_partition = id_column.by_partition()
        sinces = {
            p: int(partition_ids.buckets.min()) - WINDOW_BUCKETS
            for p, partition_ids in by_partition.items()
        }
        is_duplicate = np.zeros(len(id_column.ids), np.bool_)
        for partition, index in self.state.get(sinces, next_offset, self._scan).items():
            partition_ids = by_partition[partition]
            is_duplicate[partition_ids.rows] = index.duplicates(
                partition_ids.ids, partition_ids.buckets
            )
        if not is_duplicate.any():
            return DeduplicatedBatch(rows, [], by_partition)
        duplicate_rows = id_column.row_indexes(is_duplicate)
        is_kept = np.ones(rows.num_rows, np.bool_)
        is_kept[duplicate_rows] = False
        return DeduplicatedBatch(
            kept_rows(rows, pa.array(is_kept)),
            self._entries(rows.take(pa.array(duplicate_rows))),
            {
                partition: _subset(partition_ids, ~is_duplicate[partition_ids.rows])
                for partition, partition_ids in by_partition.items()
            },
        )

    def commit(self, batch: DeduplicatedBatch, offset_updates: Mapping[int, OffsetUpdate]) -> None:
        """Add the ids of a batch that was committed."""
        new_ids = batch.new_ids
        for partition, index in self.state.cached(new_ids).items():
            partition_ids = new_ids[partition]
            if len(partition_ids.ids):
                index.add(partition_ids.ids, partition_ids.buckets)
                since = int(partition_ids.buckets.min()) - WINDOW_BUCKETS - SLACK_BUCKETS
                self.state.expire(partition, since, IdIndex.expire)
        if new_ids:
            self._budget.enforce(self._topic, self.state.all_states())
        self.state.advance(offset_updates)

    def _scan(self, partitions: Collection[int], since: int) -> Mapping[int, IdIndex]:
        by_partition = {partition: IdIndex() for partition in partitions}
        stored = scan_recent_rows(
            self._table,
            [EVENT_HASH],
            pc.field(EVENT_HASH).is_valid(),
            [~partition for partition in partitions] if self._of_imports else partitions,
            since * BUCKET_MS,
        )
        # Compaction leaves the hashes of imported rows alone.
        derived = (
            iter(())
            if self._of_imports
            else scan_derived_hashes(self._table, partitions, since * BUCKET_MS)
        )
        for rows in chain(stored, derived):
            self.state.files_scanned += 1
            if id_column := _id_column(rows, self._of_imports):
                for partition, partition_ids in id_column.by_partition().items():
                    # Copied, so that no bucket keeps the arrays of the whole batch alive.
                    by_partition[partition].add(partition_ids.ids.copy(), partition_ids.buckets)
                self._budget.enforce(
                    self._topic, [*self.state.all_states(), *by_partition.values()]
                )
        with ThreadPoolExecutor() as pool:  # numpy sorts without the GIL
            list(
                pool.map(
                    IdBucket.sort,
                    [
                        bucket
                        for index in by_partition.values()
                        for bucket in index.buckets.values()
                    ],
                )
            )
        trim_memory()
        return by_partition

    def _entries(self, rows: pa.Table) -> list[QuarantineEntry]:
        columns = zip(
            rows[self._table.table.subject_column].to_pylist(),
            to_unix_ms(rows, RECEIVED_AT).to_pylist(),
            *(rows[name].to_pylist() for name in ENTRY_COLUMNS),
            strict=True,
        )
        return [
            QuarantineEntry(
                QuarantineStage.DUPLICATE,
                SAME_ID if event_id else SAME_REQUEST,
                b"",
                received_ms,
                partition,
                offset,
                seq,
                subject_id,
            )
            for subject_id, received_ms, event_id, partition, offset, seq in columns
        ]


def _subset(partition_ids: PartitionIds, selected: Mask) -> PartitionIds:
    return PartitionIds(
        partition_ids.rows[selected], partition_ids.ids[selected], partition_ids.buckets[selected]
    )


def _id_column(rows: pa.Table | pa.RecordBatch, negative: bool = False) -> IdColumn | None:
    """The ids of the rows; None when no row has one. `negative`: partition 0 is stored as -1."""
    hashes = rows[EVENT_HASH]
    if hashes.null_count == len(hashes):
        return None
    partitions = ~rows[PARTITION].to_numpy() if negative else rows[PARTITION].to_numpy()
    buckets = to_unix_ms(rows, RECEIVED_AT).to_numpy() // BUCKET_MS
    if not hashes.null_count:
        return IdColumn(None, partitions, hashes.to_numpy().view(np.uint64), buckets)
    indexes = np.flatnonzero(hashes.is_valid().to_numpy(zero_copy_only=False))
    ids = pc.drop_null(hashes).to_numpy().view(np.uint64)
    return IdColumn(indexes, partitions[indexes], ids, buckets[indexes])
