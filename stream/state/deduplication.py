"""Copies of stored items are left out of a batch, each with a note that says so."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.rows.quarantine import Quarantined, Stage
from stream.runtime.memory_trim import give_back
from stream.state.bloom_filter import Ids, Mask
from stream.state.id_bucket import Slot
from stream.state.id_index import SLACK, SLOT_MS, WINDOW, Numbers, Seen
from stream.state.memory_budget import Room
from stream.state.partition_state import Memory
from stream.state.table_scan import PARTITION, RECEIVED, milliseconds, read_back
from stream.storage.delta_commit import LakeTable, Move

HASH = "event_hash"
SAME_ID = "same eventId as an item received before"
SAME_REQUEST = "same Idempotency-Key and place as an item received before"
NOTED = ("event_id", PARTITION, "kafka_offset", "seq")


class Own(Struct, frozen=True):
    """What of a batch is one topic partition's, in the order of the batch."""

    places: Numbers
    """Among the marked."""
    ids: Ids
    slots: Numbers


class Marked(Struct, frozen=True):
    """The rows of one batch that have an id."""

    places: Numbers | None
    """In the batch; None when all rows have one."""
    partitions: Numbers
    ids: Ids
    slots: Numbers

    def by_partition(self) -> dict[int, Own]:
        """Sorted once, because there are many rows and few partitions."""
        order = np.argsort(self.partitions.astype(np.uint16), kind="stable")
        partitions, ids, slots = self.partitions[order], self.ids[order], self.slots[order]
        starts = np.flatnonzero(np.diff(partitions, prepend=-1)).tolist()
        return {
            int(partitions[first]): Own(order[first:last], ids[first:last], slots[first:last])
            for first, last in zip(starts, [*starts[1:], len(order)], strict=True)
        }

    def in_batch(self, chosen: Mask) -> Numbers:
        """Places in the batch of some of the marked."""
        return np.flatnonzero(chosen) if self.places is None else self.places[chosen]


class Sifted(Struct, frozen=True):
    """A batch without its copies."""

    rows: pa.Table
    copies: list[Quarantined]
    originals: Mapping[int, Own] = {}
    """What is to be remembered when the batch is stored, by topic partition."""


class Duplicates:
    """The ids of one table's topic partitions."""

    def __init__(self, table: LakeTable, topic: str, room: Room) -> None:
        self._table = table
        self._topic = topic
        self._room = room
        self.memory: Memory[Seen] = Memory(f"ids of {topic}")

    def sift(self, rows: pa.Table, next_of: Callable[[int], int]) -> Sifted:
        """Leave out the copies; nothing is remembered of the batch before `learn`."""
        marked = _marked(rows)
        if marked is None:
            return Sifted(rows, [])
        found = marked.by_partition()
        sinces = {p: int(own.slots.min()) - WINDOW for p, own in found.items()}
        copies = np.zeros(len(marked.ids), np.bool_)
        for partition, seen in self.memory.recall(sinces, next_of, self._read).items():
            own = found[partition]
            copies[own.places] = seen.copies(own.ids, own.slots)
        if not copies.any():
            return Sifted(rows, [], found)
        copied = marked.in_batch(copies)
        stays = np.ones(rows.num_rows, np.bool_)
        stays[copied] = False
        return Sifted(
            rows.filter(pa.array(stays)),
            self._notes(rows.take(pa.array(copied))),
            {partition: _only(own, ~copies[own.places]) for partition, own in found.items()},
        )

    def learn(self, sifted: Sifted, moves: Mapping[int, Move]) -> None:
        """The batch was committed."""
        originals = sifted.originals
        for partition, seen in self.memory.present(originals).items():
            own = originals[partition]
            if len(own.ids):
                seen.add(own.ids, own.slots)
                since = int(own.slots.min()) - WINDOW - SLACK
                self.memory.forget(partition, since, Seen.forget)
        if originals:
            self._room.keep_within(self._topic, self.memory.known())
        self.memory.advance(moves)

    def _read(self, partitions: Collection[int], since: int) -> Mapping[int, Seen]:
        found = {partition: Seen() for partition in partitions}
        wanted = pc.field(HASH).is_valid()
        for rows in read_back(self._table, [HASH], wanted, partitions, since * SLOT_MS):
            self.memory.pieces += 1
            if marked := _marked(rows):
                for partition, own in marked.by_partition().items():
                    # A copy, so that no slot keeps what others no longer need of the same batch.
                    found[partition].add(own.ids.copy(), own.slots)
                self._room.keep_within(self._topic, [*self.memory.known(), *found.values()])
        with ThreadPoolExecutor() as pool:  # sorting is outside of Python's lock
            list(pool.map(Slot.settle, [s for one in found.values() for s in one.slots.values()]))
        give_back()
        return found

    def _notes(self, rows: pa.Table) -> list[Quarantined]:
        noted = zip(
            rows[self._table.table.subject].to_pylist(),
            milliseconds(rows, RECEIVED).to_pylist(),
            *(rows[name].to_pylist() for name in NOTED),
            strict=True,
        )
        return [
            Quarantined(
                Stage.DUPLICATE,
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


def _only(own: Own, chosen: Mask) -> Own:
    return Own(own.places[chosen], own.ids[chosen], own.slots[chosen])


def _marked(rows: pa.Table | pa.RecordBatch) -> Marked | None:
    """The rows with an id; None when there are none."""
    hashes = rows[HASH]
    if hashes.null_count == len(hashes):
        return None
    partitions = rows[PARTITION].to_numpy()
    slots = milliseconds(rows, RECEIVED).to_numpy() // SLOT_MS
    if not hashes.null_count:
        return Marked(None, partitions, hashes.to_numpy().view(np.uint64), slots)
    places = np.flatnonzero(hashes.is_valid().to_numpy(zero_copy_only=False))
    ids = pc.drop_null(hashes).to_numpy().view(np.uint64)
    return Marked(places, partitions[places], ids, slots[places])
