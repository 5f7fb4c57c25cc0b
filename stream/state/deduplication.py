"""Copies of stored items are left out of a batch, each with a note that says so."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.runtime.allocator import trim_memory
from stream.state.bloom_filter import Ids, Mask
from stream.state.id_index import (
    BUCKET_MS,
    SLACK_BUCKETS,
    WINDOW_BUCKETS,
    IdBucket,
    IdIndex,
    Numbers,
)
from stream.state.memory_budget import MemoryBudget
from stream.state.partition_state import PartitionStates
from stream.state.table_scan import PARTITION, RECEIVED_AT, scan_recent_rows, to_unix_ms
from stream.storage.delta_commit import LakeTable, OffsetUpdate

EVENT_HASH = "event_hash"
SAME_ID = "same eventId as an item received before"
SAME_REQUEST = "same Idempotency-Key and place as an item received before"
ENTRY_COLUMNS = ("event_id", PARTITION, "kafka_offset", "seq")


class PartitionIds(Struct, frozen=True):
    """What of a batch is one topic partition's, in the order of the batch."""

    rows: Numbers
    """Among the marked."""
    ids: Ids
    buckets: Numbers


class IdColumn(Struct, frozen=True):
    """The rows of one batch that have an id."""

    rows: Numbers | None
    """In the batch; None when all rows have one."""
    partitions: Numbers
    ids: Ids
    buckets: Numbers

    def by_partition(self) -> dict[int, PartitionIds]:
        """Sorted once, because there are many rows and few partitions."""
        order = np.argsort(self.partitions.astype(np.uint16), kind="stable")
        partitions, ids, slots = self.partitions[order], self.ids[order], self.buckets[order]
        starts = np.flatnonzero(np.diff(partitions, prepend=-1)).tolist()
        return {
            int(partitions[first]): PartitionIds(
                order[first:last], ids[first:last], slots[first:last]
            )
            for first, last in zip(starts, [*starts[1:], len(order)], strict=True)
        }

    def row_indexes(self, chosen: Mask) -> Numbers:
        """Places in the batch of some of the marked."""
        return np.flatnonzero(chosen) if self.rows is None else self.rows[chosen]


class DeduplicatedBatch(Struct, frozen=True):
    """A batch without its copies."""

    rows: pa.Table
    duplicates: list[QuarantineEntry]
    new_ids: Mapping[int, PartitionIds] = {}
    """What is to be remembered when the batch is stored, by topic partition."""


class Deduplication:
    """The ids of one table's topic partitions."""

    def __init__(self, table: LakeTable, topic: str, memory_budget: MemoryBudget) -> None:
        self._table = table
        self._topic = topic
        self._budget = memory_budget
        self.state: PartitionStates[IdIndex] = PartitionStates(f"ids of {topic}")

    def deduplicate(self, rows: pa.Table, next_of: Callable[[int], int]) -> DeduplicatedBatch:
        """Leave out the copies; nothing is remembered of the batch before `learn`."""
        marked = _id_column(rows)
        if marked is None:
            return DeduplicatedBatch(rows, [])
        found = marked.by_partition()
        sinces = {p: int(own.buckets.min()) - WINDOW_BUCKETS for p, own in found.items()}
        copies = np.zeros(len(marked.ids), np.bool_)
        for partition, seen in self.state.get(sinces, next_of, self._scan).items():
            own = found[partition]
            copies[own.rows] = seen.duplicates(own.ids, own.buckets)
        if not copies.any():
            return DeduplicatedBatch(rows, [], found)
        copied = marked.row_indexes(copies)
        stays = np.ones(rows.num_rows, np.bool_)
        stays[copied] = False
        return DeduplicatedBatch(
            rows.filter(pa.array(stays)),
            self._entries(rows.take(pa.array(copied))),
            {partition: _subset(own, ~copies[own.rows]) for partition, own in found.items()},
        )

    def commit(self, sifted: DeduplicatedBatch, moves: Mapping[int, OffsetUpdate]) -> None:
        """The batch was committed."""
        originals = sifted.new_ids
        for partition, seen in self.state.cached(originals).items():
            own = originals[partition]
            if len(own.ids):
                seen.add(own.ids, own.buckets)
                since = int(own.buckets.min()) - WINDOW_BUCKETS - SLACK_BUCKETS
                self.state.expire(partition, since, IdIndex.expire)
        if originals:
            self._budget.enforce(self._topic, self.state.all_states())
        self.state.advance(moves)

    def _scan(self, partitions: Collection[int], since: int) -> Mapping[int, IdIndex]:
        found = {partition: IdIndex() for partition in partitions}
        wanted = pc.field(EVENT_HASH).is_valid()
        for rows in scan_recent_rows(
            self._table, [EVENT_HASH], wanted, partitions, since * BUCKET_MS
        ):
            self.state.files_scanned += 1
            if marked := _id_column(rows):
                for partition, own in marked.by_partition().items():
                    # A copy, so that no slot keeps what others no longer need of the same batch.
                    found[partition].add(own.ids.copy(), own.buckets)
                self._budget.enforce(self._topic, [*self.state.all_states(), *found.values()])
        with ThreadPoolExecutor() as pool:  # sorting is outside of Python's lock
            list(
                pool.map(IdBucket.sort, [s for one in found.values() for s in one.buckets.values()])
            )
        trim_memory()
        return found

    def _entries(self, rows: pa.Table) -> list[QuarantineEntry]:
        noted = zip(
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
            for subject_id, received_ms, event_id, partition, offset, seq in noted
        ]


def _subset(own: PartitionIds, chosen: Mask) -> PartitionIds:
    return PartitionIds(own.rows[chosen], own.ids[chosen], own.buckets[chosen])


def _id_column(rows: pa.Table | pa.RecordBatch) -> IdColumn | None:
    """The rows with an id; None when there are none."""
    hashes = rows[EVENT_HASH]
    if hashes.null_count == len(hashes):
        return None
    partitions = rows[PARTITION].to_numpy()
    slots = to_unix_ms(rows, RECEIVED_AT).to_numpy() // BUCKET_MS
    if not hashes.null_count:
        return IdColumn(None, partitions, hashes.to_numpy().view(np.uint64), slots)
    places = np.flatnonzero(hashes.is_valid().to_numpy(zero_copy_only=False))
    ids = pc.drop_null(hashes).to_numpy().view(np.uint64)
    return IdColumn(places, partitions[places], ids, slots[places])
