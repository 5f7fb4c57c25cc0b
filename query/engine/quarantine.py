"""What was set aside of one request's items: rows of the quarantine at exactly their place."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from query.engine.engine import Engine, Sql, joined
from query.engine.snapshots import Pinned
from schemas.lake.committed_offsets import gone_offsets
from schemas.lake.delta_table import Part
from schemas.receipts import Receipt
from schemas.tables import QUARANTINE
from schemas.tables.column import IDENTITY

LOST = "lost"
"""Stage of the notes about messages that nobody could read."""

LATER_MS = 120_000
"""How much later than its items a chunk may have been sent: it bears the time when it is torn."""

COLUMNS = ("subject_id", "ts", "topic", *IDENTITY, "stage", "reason")
NEEDED = tuple(column for column in QUARANTINE.columns if column.name in COLUMNS)


class Place(Struct, frozen=True):
    """One topic partition of one making of its topic."""

    topic: str
    epoch: int
    partition: int
    before: int
    """The epoch of rows that bear none, because they are older than that column."""


class Aside(Struct, frozen=True):
    """One item that is not a row of its table, and why."""

    seq: int | None
    """Its position in the chunk; None when it is about the whole chunk."""
    stage: str
    reason: str


async def set_aside(
    engine: Engine,
    pinned: Pinned,
    place: Place,
    receipt: Receipt,
    owners: Sequence[str],
    seconds: float,
) -> list[Aside]:
    """The rows about the receipt's items that belong to its owners, or to nobody."""
    until = receipt.received_ms + LATER_MS
    parts = pinned.parts(None, receipt.received_ms, until)
    if not parts:
        return []
    relation = await engine.relation(parts, NEEDED)
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
        "before": place.before,
        "epoch": place.epoch,
        "partition": place.partition,
        "offset": receipt.offset,
        "start": _instant(receipt.received_ms),
        "end": _instant(until),
        "first": receipt.first,
        "last": receipt.first + receipt.count - 1,
        "owners": list(owners),
    }
    rows = await engine.rows(Sql(text, joined(relation.values, own)), seconds)
    return [
        Aside(None if subject_id is None else seq, stage, reason)
        for seq, subject_id, stage, reason in rows
    ]


class Gone:
    """Messages that Kafka deleted before they were read, as the quarantine notes them.

    There are none, as a rule. A part never changes, so each is asked once.
    """

    def __init__(self) -> None:
        self._asked: frozenset[str] = frozenset()
        self._gone: dict[tuple[str, int | None, int], set[range]] = {}

    async def holds(
        self, engine: Engine, pinned: Pinned, place: Place, offset: int, seconds: float
    ) -> bool:
        """Whether the chunk at this place is among them."""
        paths = frozenset(part.path for part in pinned.version.parts)
        new = [part for part in pinned.version.parts if part.path not in self._asked]
        if new:
            for topic, epoch, partition, note in await _notes(engine, new, seconds):
                self._gone.setdefault((topic, epoch, partition), set()).add(gone_offsets(note))
        self._asked = paths
        epochs = (place.epoch, None) if place.epoch == place.before else (place.epoch,)
        return any(
            offset in offsets
            for epoch in epochs
            for offsets in self._gone.get((place.topic, epoch, place.partition), ())
        )


async def _notes(engine: Engine, parts: Sequence[Part], seconds: float) -> list[tuple[Any, ...]]:
    relation = await engine.relation(parts, NEEDED)
    text = (
        "SELECT topic, epoch, kafka_partition, reason\n"  # noqa: S608 - every name is ours
        f"  FROM {relation.text} AS aside\n"
        f" WHERE stage = '{LOST}'\n"
        " ORDER BY topic, epoch, kafka_partition, reason"
    )
    return await engine.rows(Sql(text, relation.values), seconds)


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
