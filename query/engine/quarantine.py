"""Quarantined items and lost offset ranges of a receipt."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from query.engine.engine import Engine, Sql
from query.engine.snapshots import PinnedVersion
from query.sql.fragment import merge_values
from query.sql.select import Relation, Select, render
from schemas.lake.delta_table import TableVersion
from schemas.lake.lost_ranges import lost_offsets
from schemas.lake.quarantine_reasons import replay_id
from schemas.receipts import Receipt
from schemas.tables import QUARANTINE
from schemas.tables.column import ROW_KEY

LOST = "lost"
"""Stage of the rows that record lost offset ranges."""

DUPLICATE, REPLAYED = "duplicate", "replayed"
"""Stages of an item that was stored before, and of one that left the quarantine."""

REPLAYS = """
    SELECT replays.reason,
           COALESCE(failures.stage, replays.stage) AS stage,
           COALESCE(failures.reason, 'sent again from the quarantine') AS reason_now
    FROM quarantined AS replays
    LEFT JOIN quarantined AS failures
        ON COALESCE(failures.epoch, 0) = COALESCE(replays.epoch, 0)
        AND failures.kafka_partition = replays.kafka_partition
        AND failures.kafka_offset = replays.kafka_offset
        AND failures.seq = replays.seq
        AND failures.reason <> replays.reason
    WHERE IN_LIST(replays.reason, $replays)
    ORDER BY replays.reason, replays.stage
"""
"""What became of replays; `replayed` is after `duplicate`, as the last row of an item counts."""

MAX_SEND_DELAY_MS = 120_000
"""Maximum delay from receipt to produce; the row of a torn chunk has the time of the latter."""

COLUMNS = ("subject_id", "ts", "topic", *ROW_KEY, "stage", "reason", "first_offset", "next_offset")
READ_COLUMNS = tuple(column for column in QUARANTINE.columns if column.name in COLUMNS)


class EpochPartition(Struct, frozen=True):
    """A topic partition, with the epoch of its topic."""

    topic: str
    epoch: int
    partition: int
    default_epoch: int
    """The epoch of rows without one, which are older than that column."""


class QuarantinedItem(Struct, frozen=True):
    """An item that was quarantined, and why."""

    seq: int | None
    """Its position in the chunk; None for the whole chunk."""
    stage: str
    reason: str


async def quarantined_items(
    engine: Engine,
    pinned: PinnedVersion,
    partition: EpochPartition,
    receipt: Receipt,
    owners: Sequence[str],
    seconds: float,
) -> list[QuarantinedItem]:
    """Quarantine rows of a receipt's items that belong to its owners, or to no website."""
    until = receipt.received_ms + MAX_SEND_DELAY_MS
    data_files = pinned.data_files(None, receipt.received_ms, until)
    if not data_files:
        return []
    relation = await engine.relation(pinned.version.with_files(data_files), READ_COLUMNS)
    quarantined = Relation(
        name="quarantined",
        source=relation.text,
        columns=("seq", "subject_id", "stage", "reason"),
        conditions=(
            "topic = $topic",
            "COALESCE(epoch, $before) = $epoch",
            "kafka_partition = $partition",
            "kafka_offset = $offset",
            "ts >= $start",
            "ts < $end",
            "seq BETWEEN $first AND $last AND IN_LIST(subject_id, $owners)"
            f" OR subject_id IS NULL AND stage <> '{LOST}'",
        ),
    )
    select = Select(
        relations=(quarantined,), body="SELECT seq, subject_id, stage, reason FROM quarantined"
    )
    values = {
        "topic": partition.topic,
        "before": partition.default_epoch,
        "epoch": partition.epoch,
        "partition": partition.partition,
        "offset": receipt.offset,
        "start": _instant(receipt.received_ms),
        "end": _instant(until),
        "first": receipt.first_position,
        "last": receipt.first_position + receipt.count - 1,
        "owners": list(owners),
    }
    rows = await engine.rows(
        Sql(render(select, engine.dialect), merge_values(relation.values, values)), seconds
    )
    return [
        QuarantinedItem(None if subject_id is None else seq, stage, reason)
        for seq, subject_id, stage, reason in rows
    ]


async def with_replays(
    items: Sequence[QuarantinedItem],
    engine: Engine,
    pinned: PinnedVersion,
    partition: EpochPartition,
    receipt: Receipt,
    owners: Sequence[str],
    seconds: float,
) -> list[QuarantinedItem]:
    """The items with what became of those that were sent again.

    The stage of one that was stored then is `replayed`; one that failed again, or was a duplicate,
    has the stage and reason of that.
    """
    # Rows of versions without epochs have the name of epoch 0.
    epochs = {partition.epoch} | ({0} if partition.epoch == partition.default_epoch else set())
    place = partition.partition, receipt.offset
    names = {
        replay_id(partition.topic, epoch, *place, item.seq): item.seq
        for item in items
        if item.seq is not None and item.stage != DUPLICATE
        for epoch in epochs
    }
    until = receipt.received_ms + MAX_SEND_DELAY_MS
    data_files = pinned.data_files(None, receipt.received_ms, until)
    if not names or not data_files:
        return list(items)
    relation = await engine.relation(pinned.version.with_files(data_files), READ_COLUMNS)
    quarantined = Relation(
        name="quarantined",
        source=relation.text,
        columns=("epoch", "kafka_partition", "kafka_offset", "seq", "stage", "reason"),
        conditions=(
            "topic = $topic",
            "ts >= $start",
            "ts < $end",
            "IN_LIST(subject_id, $owners)",
        ),
    )
    values = {
        "topic": partition.topic,
        "start": _instant(receipt.received_ms),
        "end": _instant(until),
        "owners": list(owners),
        "replays": list(names),
    }
    select = Select(relations=(quarantined,), body=REPLAYS)
    rows = await engine.rows(
        Sql(render(select, engine.dialect), merge_values(relation.values, values)), seconds
    )
    replayed = {
        names[name]: QuarantinedItem(names[name], stage, reason) for name, stage, reason in rows
    }
    return [item if item.seq is None else replayed.get(item.seq, item) for item in items]


class LostMessages:
    """Offset ranges that Kafka deleted before a worker read them, as recorded in the quarantine.

    Usually there are none. A data file is immutable, so each is read once.
    """

    def __init__(self) -> None:
        self._read_files: frozenset[str] = frozenset()
        self._ranges: dict[tuple[str, int | None, int], set[range]] = {}

    async def contains(
        self,
        engine: Engine,
        pinned: PinnedVersion,
        partition: EpochPartition,
        offset: int,
        seconds: float,
    ) -> bool:
        """Whether the chunk at this offset is among them."""
        paths = frozenset(data_file.path for data_file in pinned.version.data_files)
        new = [
            data_file
            for data_file in pinned.version.data_files
            if data_file.path not in self._read_files
        ]
        if new:
            for *key, first, next_, reason in await _read_lost_ranges(
                engine, pinned.version.with_files(new), seconds
            ):
                topic, epoch, number = key
                offsets = lost_offsets(first, next_, reason)
                self._ranges.setdefault((topic, epoch, number), set()).add(offsets)
        self._read_files = paths
        epochs = (
            (partition.epoch, None)
            if partition.epoch == partition.default_epoch
            else (partition.epoch,)
        )
        return any(
            offset in offsets
            for epoch in epochs
            for offsets in self._ranges.get((partition.topic, epoch, partition.partition), ())
        )


async def _read_lost_ranges(
    engine: Engine, version: TableVersion, seconds: float
) -> list[tuple[Any, ...]]:
    relation = await engine.relation(version, READ_COLUMNS)
    lost = Relation(
        name="lost",
        source=relation.text,
        columns=(
            "topic",
            "epoch",
            "kafka_partition",
            "first_offset",
            "next_offset",
            "reason",
        ),
        conditions=(f"stage = '{LOST}'",),
    )
    body = "SELECT * FROM lost ORDER BY topic, epoch, kafka_partition, reason"
    select = Select(relations=(lost,), body=body)
    return await engine.rows(Sql(render(select, engine.dialect), relation.values), seconds)


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
