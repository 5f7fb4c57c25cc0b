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
from stream.enrich.pipeline import LINE, Step, enriched
from stream.enrich.rules.lookups import Lookups
from stream.rows.arrow_tables import by_day, fit, received_column, with_epoch
from stream.rows.decoder import Arrived, open_batch
from stream.rows.ledger import Tally
from stream.rows.quarantine import (
    Lost,
    Quarantined,
    Stage,
    lost_note,
    made_anew_note,
    quarantine_rows,
)
from stream.rows.row_batch import Rows
from stream.runtime.errors import Hole, KeepsFailing, TopicChanged, Unbalanced
from stream.runtime.memory_trim import give_back
from stream.state.memory_budget import Room
from stream.state.table_state import REMEMBERED, Past
from stream.storage.delta_commit import LakeTable, Move, Moves
from stream.storage.parquet_writer import NewPart, write_part
from stream.writing.ledger_repair import account_again
from stream.writing.topic_epochs import read_before, settle

log = logging.getLogger(__name__)

TRIES = 5

LARGE = 4_096
"""Bytes of an item: where they have more, the memory of a batch is given back. What large items
leave free lies scattered, and the next batch finds no room in it."""


class Stored(Struct, frozen=True):
    """What came of a batch."""

    rows: int
    quarantined: int
    next_offsets: Mapping[int, int]
    """By topic partition."""
    duplicates: int = 0


class Sifted(Struct, frozen=True):
    """The rows that are to be stored, and what else their commit moves."""

    rows: Rows
    marks: Moves = {}


class Fitted(Struct, frozen=True):
    """The rows of a batch as the table has them, and what became none."""

    table: pa.Table
    refused: Sequence[Quarantined]
    marks: Moves


class Drain:
    """Stores the batches of one kind, one at a time."""

    line: Mapping[str, Step] = LINE
    remembered: Collection[str] = REMEMBERED
    level_ledger = staticmethod(account_again)

    def __init__(
        self,
        settings: Settings,
        kind: Kind,
        lookups: Lookups,
        between: Callable[[str], None] = lambda step: None,  # noqa: ARG005
        room: Room | None = None,
    ) -> None:
        self.kind = kind
        self.topic = settings.topic(kind.topic)
        self.epoch = settings.ingest_epoch
        """Which making of the topic the offsets count in."""
        self.identity: TopicIdentity | None = None
        """Of the topic that was assigned; None when nothing was, or when Kafka tells none."""
        self.lost: dict[int, Lost] = {}
        """By topic partition: what Kafka no longer has, as found when it was assigned."""
        self.read_before: dict[int, tuple[int, int]] = {}
        """By topic partition: epoch and next offset of the topic that was there before."""
        self._settings = settings
        self._lookups = lookups
        self._between = between
        """Called with the name of each step that is done; tests stop the world there."""
        self._main = LakeTable(settings, kind.table)
        self._quarantine = LakeTable(settings, QUARANTINE)
        self._ledger = LakeTable(settings, LEDGER)
        room = room or Room.of(settings)
        self._past = Past(self._main, self.topic, room, self.remembered)

    def settle_epoch(self, identity: TopicIdentity | None, ends: Mapping[int, int]) -> None:
        """Find the epoch of the topic that Kafka has, before anything is read of it.

        `ends` are Kafka's, by topic partition that was assigned.
        """
        if self.identity is not None and identity != self.identity:
            raise TopicChanged(f"{self.topic} is another topic by now: {identity}")
        table = LakeTable(self._settings, self.kind.table)
        found = settle(table, self.topic, identity, ends, self._settings)
        self.identity, self.epoch = identity, found.number
        for partition in ends:
            if not table.next_offset(self._name(partition)):
                before = read_before(table, self.topic, self.epoch, partition)
                if before:
                    self.read_before[partition] = before
        if found.began:
            log.error(
                "the topic was made anew; what collectors acknowledged and nobody read is lost",
                extra={"topic": self.topic, "epoch": self.epoch, "read": self.read_before},
            )

    def next_offsets(self, partitions: Iterable[int]) -> dict[int, int]:
        """By topic partition, the first offset that the table does not hold; when it is assigned.

        On a handle of its own: a batch may be under way in another thread.
        """
        table = LakeTable(self._settings, self.kind.table)
        nexts = {partition: table.next_offset(self._name(partition)) for partition in partitions}
        self._past.hold(nexts)
        self.level_ledger(self._settings, table, self.topic, self.epoch, nexts)
        return nexts

    @property
    def recalled(self) -> int:
        """How many pieces of the table were read back so far."""
        return self._past.pieces

    def store(self, arrived: Sequence[Arrived]) -> Stored:
        """Store a batch, whole and once; Surprise when that is not possible.

        Messages that the table holds already are passed over, so that a batch may be given again.
        """
        for attempt in range(TRIES):
            try:
                stored = self._store(arrived)
                if sum(len(message.body) for message in arrived) > LARGE * stored.rows:
                    give_back()
                return stored
            except (OSError, DeltaError) as refused:
                log.warning(
                    "batch tried again",
                    extra={"topic": self.topic, "attempt": attempt + 1, "reason": str(refused)},
                )
                time.sleep(0.2 * 2**attempt)
        raise KeepsFailing(f"{self.topic}: batch not stored in {TRIES} tries")

    def _store(self, arrived: Sequence[Arrived]) -> Stored:
        self._main.refresh()
        self._ledger.refresh()
        fresh, moves, refused = self._fresh(arrived)
        if not fresh:
            return Stored(0, 0, {})
        tally = Tally(self._since(self._ledger, moves))
        fitted = self._fitted(fresh, tally)
        told = self._past.tell(fitted.table, lambda p: self._main.next_offset(self._name(p)))
        table = self._placed(told.rows, tally)
        refused += fitted.refused
        for item in refused:
            tally.quarantine(item)
        for copy in told.copies:
            tally.duplicate(copy.subject_id, copy.received_ms, copy.partition, copy.offset)
        self._between("enrich")
        self._set_aside([*refused, *told.copies], moves)
        self._between("quarantine")
        self._account(tally, moves, table.num_rows)
        self._between("ledger")
        parts = self._write(self._main, table)
        self._between("write")
        named = {self._name(p): move for p, move in moves.items()}
        self._main.commit(parts, {**named, **fitted.marks})
        self._between("commit")
        self._past.learn(told, moves)
        for partition in moves:
            self.lost.pop(partition, None)
            self.read_before.pop(partition, None)
        nexts = {partition: move.next for partition, move in moves.items()}
        return Stored(table.num_rows, len(refused), nexts, len(told.copies))

    def _fitted(self, fresh: Sequence[Arrived], tally: Tally) -> Fitted:
        """The rows of the messages; nothing else of what was made on the way stays in memory."""
        opened = open_batch(self.kind, fresh, tally)
        sifted = self._sift(opened.rows, tally)
        rows, failed = enriched(sifted.rows, self._lookups, self.line)
        table, unfit = fit(rows)
        refused = [*opened.refused, *failed, *unfit]
        return Fitted(with_epoch(table, self.epoch), refused, sifted.marks)

    def _sift(self, rows: Rows, tally: Tally) -> Sifted:  # noqa: ARG002
        """Leave out what is a copy, and tell the tally."""
        return Sifted(rows)

    def _placed(self, table: pa.Table, tally: Tally) -> pa.Table:  # noqa: ARG002
        """What is to be stored, under the identity that it has in the table."""
        return table

    def _fresh(
        self, arrived: Sequence[Arrived]
    ) -> tuple[list[Arrived], dict[int, Move], list[Quarantined]]:
        """The messages that the table does not hold, without a hole; what is known to be lost."""
        fresh: list[Arrived] = []
        starts: dict[int, int] = {}
        ends: dict[int, int] = {}
        notes: list[Quarantined] = []
        for message in sorted(arrived, key=lambda m: (m.partition, m.offset)):
            partition, offset = message.partition, message.offset
            if partition not in starts:
                starts[partition] = ends[partition] = self._main.next_offset(self._name(partition))
                if not starts[partition] and partition in self.read_before:
                    before = self.read_before[partition]
                    stamp = message.timestamp_ms
                    notes.append(made_anew_note(partition, *before, offset, stamp))
            if offset < ends[partition]:
                continue
            if offset > ends[partition]:
                notes.append(self._lost(message, ends[partition]))
            fresh.append(message)
            ends[partition] = offset + 1
        moves = {p: Move(starts[p], ends[p]) for p in starts if ends[p] > starts[p]}
        return fresh, moves, notes

    def _lost(self, message: Arrived, expected: int) -> Quarantined:
        """The note about messages that are gone for good; a Hole when nothing says so."""
        lost = self.lost.get(message.partition)
        if lost is None or (lost.first, lost.next) != (expected, message.offset):
            raise Hole(
                f"{self.topic}/{message.partition}: offset {message.offset} came, "
                f"{expected} was expected"
            )
        return lost_note(message.partition, expected, message.offset, message.timestamp_ms)

    def _write(self, target: LakeTable, rows: pa.Table) -> list[NewPart]:
        return [
            write_part(target.store, target.table, day, of_day)
            for day, of_day in by_day(rows, received_column(target.table))
        ]

    def _set_aside(self, refused: Sequence[Quarantined], moves: Mapping[int, Move]) -> None:
        """Commit what is not stored, leaving out what an earlier try has committed."""
        if not refused:
            return
        self._quarantine.refresh()
        since = self._since(self._quarantine, moves)
        new = [q for q in refused if q.offset >= since[q.partition]]
        bad = [q for q in new if q.stage is not Stage.DUPLICATE]
        if bad:
            log.warning(
                "quarantined",
                extra={"topic": self.topic, "rows": len(bad), "reason": bad[0].reason},
            )
        if new:
            self._commit_beside(
                self._quarantine, quarantine_rows(self.topic, self.epoch, new), moves, {}
            )

    def _account(self, tally: Tally, moves: Mapping[int, Move], stored: int) -> None:
        """Commit the account, leaving out what an earlier try has committed."""
        since = self._since(self._ledger, moves)
        if all(since[p] <= move.expected for p, move in moves.items()) and tally.stored() != stored:
            raise Unbalanced(f"{self.topic}: {stored} rows, {tally.stored()} by the account")
        rows = tally.rows(self.topic, self.epoch)
        if rows.num_rows:
            self._commit_beside(self._ledger, rows, moves, tally.told)

    def _commit_beside(
        self, side: LakeTable, rows: pa.Table, moves: Mapping[int, Move], told: Moves
    ) -> None:
        since = self._since(side, moves)
        ahead = {p: move for p, move in moves.items() if move.next > since[p]}
        named = {self._name(p): Move(since[p], move.next) for p, move in ahead.items()}
        side.commit(self._write(side, rows), {**named, **told})

    def _since(self, table: LakeTable, moves: Mapping[int, Move]) -> dict[int, int]:
        """The table's own next offsets."""
        return {partition: table.next_offset(self._name(partition)) for partition in moves}

    def _name(self, partition: int) -> str:
        return app_id(self.epoch, self.topic, partition)
