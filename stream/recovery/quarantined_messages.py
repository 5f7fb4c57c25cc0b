"""All entries of the quarantine, also of messages that name no website, for operators."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings
from schemas.tables import QUARANTINE
from stream.rows.quarantine import QuarantineStage
from stream.rows.row_batch import KEY_COLUMNS
from stream.storage.table_reader import TableReader

DAY_MS = 86_400_000
GROUP = ("topic", "stage", "subject_id", "reason")


class QuarantinedMessages(Struct, frozen=True, rename="camel"):
    """Entries with the same topic, stage, subject and reason."""

    items: int
    stage: str
    topic: str
    website: str | None
    """Website or link; None when the message names none."""
    last_at: str | None
    reason: str
    position: str
    """Position of the newest item: TOPIC/PARTITION/OFFSET/SEQ."""


def quarantined_messages(settings: Settings, days: int) -> Sequence[QuarantinedMessages]:
    """The entries of the last days without duplicates, grouped, the most frequent first."""
    reader = TableReader.open(settings, QUARANTINE)
    if reader is None:
        return []
    since = datetime.fromtimestamp((now_ms() - days * DAY_MS) / 1000, UTC)
    condition = (pc.field("ts") >= since) & (pc.field("stage") != QuarantineStage.DUPLICATE.value)
    batches = list(reader.batches([*GROUP, "ts", *KEY_COLUMNS], condition))
    if not batches:
        return []
    groups = (
        pa.Table.from_batches(batches)
        .sort_by("ts")
        .group_by(list(GROUP), use_threads=False)
        .aggregate([([], "count_all"), *((name, "last") for name in ("ts", *KEY_COLUMNS))])
    )
    key = ("topic", *(f"{name}_last" for name in KEY_COLUMNS))
    listed = [
        QuarantinedMessages(
            items=row["count_all"],
            stage=row["stage"],
            topic=row["topic"],
            website=row["subject_id"],
            last_at=format_instant(round(row["ts_last"].timestamp() * 1000)),
            reason=row["reason"],
            position="/".join(str(row[name]) for name in key),
        )
        for row in groups.to_pylist()
    ]
    return sorted(listed, key=lambda entry: (-entry.items, entry.position))


def payload_at(settings: Settings, position: str) -> bytes | None:
    """The bytes of the entry at TOPIC/PARTITION/OFFSET/SEQ, cut at 64 KiB; None without one.

    ValueError when it is no position.
    """
    topic, *numbers = position.rsplit("/", len(KEY_COLUMNS))
    condition = pc.field("topic") == topic
    for name, number in zip(KEY_COLUMNS, numbers, strict=True):
        condition &= pc.field(name) == int(number)
    reader = TableReader.open(settings, QUARANTINE)
    for batch in reader.batches(["payload"], condition) if reader else ():
        for payload in batch["payload"].to_pylist():
            return base64.b64decode(payload or "")
    return None
