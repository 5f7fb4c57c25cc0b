"""All entries of the quarantine, also of messages that name no website, for operators."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from schemas.lake.quarantine_reasons import REPLAY_PREFIX, remedy, replay_id
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings
from schemas.tables import QUARANTINE
from stream.rows.quarantine import QuarantineStage
from stream.rows.row_batch import KEY_COLUMNS
from stream.storage.table_reader import TableReader
from stream.storage.table_schema import arrow_schema

DAY_MS = 86_400_000
GROUP = ("topic", "stage", "subject_id", "reason")
ENTRY_COLUMNS = (*GROUP, "ts", "epoch", *KEY_COLUMNS)


class QuarantinedMessages(Struct, frozen=True, rename="camel"):
    """Entries with the same topic, stage, subject and reason."""

    items: int
    stage: str
    topic: str
    website: str | None
    """Website or link; None when the message names none."""
    first_at: str | None
    last_at: str | None
    reason: str
    remedy: str
    """What would mend them."""
    position: str
    """Position of the newest item: TOPIC/PARTITION/OFFSET/SEQ."""


def quarantined_messages(settings: Settings, days: int) -> Sequence[QuarantinedMessages]:
    """The entries of the last days that are neither duplicates nor replayed, by reason.

    The most frequent come first.
    """
    reader = TableReader.open(settings, QUARANTINE)
    if reader is None:
        return []
    last = [(name, "last") for name in ("ts", *KEY_COLUMNS)]
    groups = (
        open_entries(reader, days)
        .sort_by("ts")
        .group_by(list(GROUP), use_threads=False)
        .aggregate([([], "count_all"), ("ts", "first"), *last])
    )
    key = ("topic", *(f"{name}_last" for name in KEY_COLUMNS))
    listed = [
        QuarantinedMessages(
            items=row["count_all"],
            stage=row["stage"],
            topic=row["topic"],
            website=row["subject_id"],
            first_at=format_instant(round(row["ts_first"].timestamp() * 1000)),
            last_at=format_instant(round(row["ts_last"].timestamp() * 1000)),
            reason=row["reason"],
            remedy=remedy(row["stage"], row["reason"]),
            position="/".join(str(row[name]) for name in key),
        )
        for row in groups.to_pylist()
    ]
    return sorted(listed, key=lambda entry: (-entry.items, entry.position))


def open_entries(reader: TableReader, days: int, website: str | None = None) -> pa.Table:
    """The entries of the last days that are neither duplicates nor replayed, without payload."""
    since = datetime.fromtimestamp((now_ms() - days * DAY_MS) / 1000, UTC)
    is_duplicate = pc.field("stage") == QuarantineStage.DUPLICATE.value
    is_replay = pc.starts_with(pc.field("reason"), REPLAY_PREFIX)
    condition = (pc.field("ts") >= since) & (~is_duplicate | is_replay)
    if website is not None:
        condition &= pc.field("subject_id") == website
    schema = pa.schema([arrow_schema(QUARANTINE).field(name) for name in ENTRY_COLUMNS])
    return _without_replayed(
        pa.Table.from_batches(reader.batches(ENTRY_COLUMNS, condition), schema)
    )


def _without_replayed(entries: pa.Table) -> pa.Table:
    columns = (entries[name].to_pylist() for name in ("topic", "epoch", *KEY_COLUMNS))
    replay_ids = [
        replay_id(topic, epoch or 0, *at) for topic, epoch, *at in zip(*columns, strict=True)
    ]
    is_replay = pc.starts_with(entries["reason"], REPLAY_PREFIX)
    settled = entries["reason"].filter(is_replay)
    is_settled = pc.is_in(pa.array(replay_ids, pa.string()), settled)
    return entries.filter(pc.invert(pc.or_(is_replay, is_settled)))


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
