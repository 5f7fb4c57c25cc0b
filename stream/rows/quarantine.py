"""Entries of the quarantine table: stage, reason and bytes of what was not stored."""

import base64
import binascii
from collections.abc import Sequence
from enum import StrEnum

import msgspec
import pyarrow as pa
from msgspec import Struct

from schemas.envelope import Envelope
from schemas.lake.lost_ranges import lost_messages_reason, topic_recreated_reason
from schemas.tables import QUARANTINE
from stream.rows.row_batch import RowBatch
from stream.storage.table_schema import arrow_schema

MAX_PAYLOAD_BYTES = 65_536
MAX_REASON_LENGTH = 1_000


class QuarantineStage(StrEnum):
    """The stage at which an item was quarantined."""

    DECODE = "decode"
    ENRICH = "enrich"
    WRITE = "write"
    DUPLICATE = "duplicate"
    """Nothing failed: the same item was received before."""
    REPLAYED = "replayed"
    """An item of the quarantine was sent again: it counts where it is now, and no longer here."""
    LOST = "lost"
    """Kafka deleted messages before they were read: one entry for the range of offsets."""


class OffsetRange(Struct, frozen=True):
    """Messages that Kafka deleted before they were read: offsets first to next - 1."""

    first: int
    next: int


class QuarantineEntry(Struct, frozen=True):
    """One item that was not stored; a whole chunk or envelope when it could not be decoded."""

    stage: QuarantineStage
    reason: str
    payload: bytes
    received_ms: int
    partition: int
    offset: int
    seq: int
    subject_id: str | None = None
    counts_as_received: bool = True
    """Whether the ledger counts it as received; messages that Kafka deleted were not."""
    lost: OffsetRange | None = None
    """The messages that Kafka deleted, where the entry is about some."""

    @property
    def row_key(self) -> tuple[int, int, int]:
        """Where the item is in its topic: partition, offset and position."""
        return self.partition, self.offset, self.seq


def quarantine_entry(
    rows: RowBatch, index: int, stage: QuarantineStage, error: Exception
) -> QuarantineEntry:
    """The entry of a row that a step or a column refused; its payload is the item as JSON."""
    envelope = rows.envelopes[index]
    return QuarantineEntry(
        stage,
        f"{type(error).__name__}: {error}",
        msgspec.json.encode(rows.items[index]),
        envelope.received_ms,
        rows.columns["kafka_partition"][index],
        rows.columns["kafka_offset"][index],
        rows.columns["seq"][index],
        envelope.subject_id,
    )


def replayed_entry(envelope: Envelope, partition: int, offset: int, seq: int) -> QuarantineEntry:
    """The entry of a replay, which the ledger subtracts from what was quarantined and received."""
    return QuarantineEntry(
        QuarantineStage.REPLAYED,
        envelope.replay_of,
        b"",
        envelope.received_ms,
        partition,
        offset,
        seq,
        envelope.subject_id,
    )


def lost_range_entry(partition: int, lost: OffsetRange, timestamp_ms: int) -> QuarantineEntry:
    """The entry of messages that Kafka deleted before they were read."""
    return QuarantineEntry(
        QuarantineStage.LOST,
        lost_messages_reason(lost.first, lost.next),
        b"",
        timestamp_ms,
        partition,
        lost.first,
        0,
        counts_as_received=False,
        lost=lost,
    )


def recreated_topic_entry(
    partition: int, epoch: int, next_: int, offset: int, timestamp_ms: int
) -> QuarantineEntry:
    """The entry of a recreated topic: how far the old one was stored; at the new one's start."""
    reason = topic_recreated_reason(epoch, next_)
    return QuarantineEntry(
        QuarantineStage.LOST,
        reason,
        b"",
        timestamp_ms,
        partition,
        offset,
        0,
        counts_as_received=False,
    )


def quarantine_rows(topic: str, epoch: int, entries: Sequence[QuarantineEntry]) -> pa.Table:
    """The entries as rows of the quarantine table."""
    return pa.table(
        {
            "subject_id": [q.subject_id for q in entries],
            "ts": [q.received_ms * 1000 for q in entries],
            "topic": [topic] * len(entries),
            "kafka_partition": [q.partition for q in entries],
            "kafka_offset": [q.offset for q in entries],
            "seq": [q.seq for q in entries],
            "stage": [q.stage.value for q in entries],
            "reason": [q.reason[:MAX_REASON_LENGTH] for q in entries],
            "payload": [_text(q.payload) for q in entries],
            "first_offset": [q.lost.first if q.lost else None for q in entries],
            "next_offset": [q.lost.next if q.lost else None for q in entries],
            "epoch": [epoch] * len(entries),
        },
        schema=arrow_schema(QUARANTINE),
    )


def _text(payload: bytes) -> str:
    return binascii.b2a_base64(payload[:MAX_PAYLOAD_BYTES], newline=False).decode()


def decode_payload(text: str) -> bytes:
    """The payload's bytes, for sending them again."""
    return base64.b64decode(text)
