"""Copies of stored items are left out of a batch, each with a note that says so."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.commit import LakeTable, Move
from stream.quarantine import Quarantined, Stage
from stream.remember.memory import Memory
from stream.remember.reading import PARTITION, RECEIVED, milliseconds, read_back
from stream.remember.room import Room
from stream.remember.seen import SLACK, SLOT_MS, WINDOW, Numbers, Seen
from stream.remember.sieve import Ids, Mask
from stream.remember.slot import Slot

HASH = "event_hash"
SAME_ID = "same eventId as an item received before"
SAME_REQUEST = "same Idempotency-Key and place as an item received before"
NOTED = ("event_id", PARTITION, "kafka_offset", "seq")


class Marked(Struct, frozen=True):
    """The rows of one batch that have an id."""

    places: Numbers
    """In the batch."""
    partitions: Numbers
    ids: Ids
    slots: Numbers

    def of(self, partition: int) -> tuple[Numbers, Ids, Numbers]:
        """Places among the marked, ids and slots of one topic partition."""
        own = np.flatnonzero(self.partitions == partition)
        return own, self.ids[own], self.slots[own]


class Sifted(Struct, frozen=True):
    """A batch without its copies."""

    rows: pa.Table
    copies: list[Quarantined]
    marked: Marked | None = None
    originals: Mask | None = None
    """Which of the marked are to be stored."""


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
        partitions = np.unique(marked.partitions).tolist()
        sinces = {p: int(marked.of(p)[2].min()) - WINDOW for p in partitions}
        copies = np.zeros(len(marked.ids), np.bool_)
        for partition, seen in self.memory.recall(sinces, next_of, self._read).items():
            own, ids, slots = marked.of(partition)
            copies[own] = seen.copies(ids, slots)
        if not copies.any():
            return Sifted(rows, [], marked, ~copies)
        stays = np.ones(rows.num_rows, np.bool_)
        stays[marked.places[copies]] = False
        return Sifted(
            rows.filter(pa.array(stays)),
            self._notes(rows.take(pa.array(marked.places[copies]))),
            marked,
            ~copies,
        )

    def learn(self, sifted: Sifted, moves: Mapping[int, Move]) -> None:
        """The batch was committed."""
        marked, originals = sifted.marked, sifted.originals
        if marked is not None and originals is not None:
            self._add(marked, originals)
        self.memory.advance(moves)

    def _add(self, marked: Marked, originals: Mask) -> None:
        partitions = np.unique(marked.partitions).tolist()
        for partition, seen in self.memory.present(partitions).items():
            own, ids, slots = marked.of(partition)
            seen.add(ids[originals[own]], slots[originals[own]])
            self.memory.forget(partition, int(slots.min()) - WINDOW - SLACK, Seen.forget)
        self._room.keep_within(self._topic, self.memory.known())

    def _read(self, partitions: Collection[int], since: int) -> Mapping[int, Seen]:
        found = {partition: Seen() for partition in partitions}
        wanted = pc.field(HASH).is_valid()
        for rows in read_back(self._table, [HASH], wanted, partitions, since * SLOT_MS):
            marked = _marked(rows)
            if marked is None:
                continue
            for partition in np.unique(marked.partitions).tolist():
                _, ids, slots = marked.of(partition)
                found[partition].add(ids, slots)
            self._room.keep_within(self._topic, [*self.memory.known(), *found.values()])
        with ThreadPoolExecutor() as pool:  # sorting is outside of Python's lock
            list(pool.map(Slot.settle, [s for one in found.values() for s in one.slots.values()]))
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


def _marked(rows: pa.Table | pa.RecordBatch) -> Marked | None:
    """The rows with an id; None when there are none."""
    hashes = rows[HASH]
    if hashes.null_count == len(hashes):
        return None
    places = np.flatnonzero(hashes.is_valid().to_numpy(zero_copy_only=False))
    return Marked(
        places,
        rows[PARTITION].to_numpy()[places],
        pc.drop_null(hashes).to_numpy().view(np.uint64),
        milliseconds(rows, RECEIVED).to_numpy()[places] // SLOT_MS,
    )
