"""What was set aside of one request's items: rows of the quarantine at exactly their place."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from query.engine.engine import Engine, Sql, merge_values
from query.engine.snapshots import PinnedVersion
from schemas.lake.committed_offsets import lost_offsets
from schemas.lake.delta_table import DataFile
from schemas.receipts import Receipt
from schemas.tables import QUARANTINE
from schemas.tables.column import ROW_KEY

LOST = "lost"
"""Stage of the notes about messages that nobody could read."""

MAX_SEND_DELAY_MS = 120_000
"""How much later than its items a chunk may have been sent: it bears the time when it is torn."""

COLUMNS = ("subject_id", "ts", "topic", *ROW_KEY, "stage", "reason")
READ_COLUMNS = tuple(column for column in QUARANTINE.columns if column.name in COLUMNS)


class EpochPartition(Struct, frozen=True):
    """One topic partition of one making of its topic."""

    topic: str
    epoch: int
    partition: int
    default_epoch: int
    """The epoch of rows that bear none, because they are older than that column."""


class QuarantinedItem(Struct, frozen=True):
    """One item that is not a row of its table, and why."""

    seq: int | None
    """Its position in the chunk; None when it is about the whole chunk."""
    stage: str
    reason: str


async def quarantined_items(
    engine: Engine,
    pinned: PinnedVersion,
    place: EpochPartition,
    receipt: Receipt,
    owners: Sequence[str],
    seconds: float,
) -> list[QuarantinedItem]:
    """The rows about the receipt's items that belong to its owners, or to nobody."""
    until = receipt.received_ms + MAX_SEND_DELAY_MS
    parts = pinned.data_files(None, receipt.received_ms, until)
    if not parts:
        return []
    relation = await engine.relation(parts, READ_COLUMNS)
    text = (
        "SELECT seq,\n"  # noqa: S608 - every name is ours, every value bound
        "       subject_id,\n"
        "       stage,\n"
        "       reason\n"
        f"  FROM {relation.text} AS aside\n"
        " WHERE topic = $topic\n"
        "   AND COALESCE(epoch, $before) = $epoch\n"
        "   AND kafka_partition = $partition\n"
        "   AND kafka_offset = $offset\n"
        "   AND ts >= $start AND ts < $end\n"
        "   AND (seq BETWEEN $first AND $last AND list_contains($owners, subject_id)\n"
        f"        OR subject_id IS NULL AND stage <> '{LOST}')"
    )
    own = {
        "topic": place.topic,
        "before": place.default_epoch,
        "epoch": place.epoch,
        "partition": place.partition,
        "offset": receipt.offset,
        "start": _instant(receipt.received_ms),
        "end": _instant(until),
        "first": receipt.first_position,
        "last": receipt.first_position + receipt.count - 1,
        "owners": list(owners),
    }
    rows = await engine.rows(Sql(text, merge_values(relation.values, own)), seconds)
    return [
        QuarantinedItem(None if subject_id is None else seq, stage, reason)
        for seq, subject_id, stage, reason in rows
    ]


class LostMessages:
    """Messages that Kafka deleted before they were read, as the quarantine notes them.

    There are none, as a rule. A part never changes, so each is asked once.
    """

    def __init__(self) -> None:
        self._read_files: frozenset[str] = frozenset()
        self._ranges: dict[tuple[str, int | None, int], set[range]] = {}

    async def contains(
        self,
        engine: Engine,
        pinned: PinnedVersion,
        place: EpochPartition,
        offset: int,
        seconds: float,
    ) -> bool:
        """Whether the chunk at this place is among them."""
        paths = frozenset(part.path for part in pinned.version.data_files)
        new = [part for part in pinned.version.data_files if part.path not in self._read_files]
        if new:
            for topic, epoch, partition, note in await _read_lost_ranges(engine, new, seconds):
                self._ranges.setdefault((topic, epoch, partition), set()).add(lost_offsets(note))
        self._read_files = paths
        epochs = (place.epoch, None) if place.epoch == place.default_epoch else (place.epoch,)
        return any(
            offset in offsets
            for epoch in epochs
            for offsets in self._ranges.get((place.topic, epoch, place.partition), ())
        )


async def _read_lost_ranges(
    engine: Engine, parts: Sequence[DataFile], seconds: float
) -> list[tuple[Any, ...]]:
    relation = await engine.relation(parts, READ_COLUMNS)
    text = (
        "SELECT topic, epoch, kafka_partition, reason\n"  # noqa: S608 - every name is ours
        f"  FROM {relation.text} AS aside\n"
        f" WHERE stage = '{LOST}'\n"
        " ORDER BY topic, epoch, kafka_partition, reason"
    )
    return await engine.rows(Sql(text, relation.values), seconds)


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
