"""What was not stored: one row of the quarantine with stage, reason and bytes."""

import base64
import binascii
from collections.abc import Sequence
from enum import StrEnum

import pyarrow as pa
from msgspec import Struct

from schemas.lake.committed_offsets import gone, made_anew
from schemas.tables import QUARANTINE
from stream.storage.table_schema import arrow_schema

PAYLOAD_BYTES = 65_536
REASON_LETTERS = 1_000


class Stage(StrEnum):
    """Where it failed."""

    DECODE = "decode"
    ENRICH = "enrich"
    WRITE = "write"
    DUPLICATE = "duplicate"
    """Nothing failed: it is a copy of an item that was received before."""
    LOST = "lost"
    """Kafka deleted messages before they were read: a note about them, not one of them."""


class Quarantined(Struct, frozen=True):
    """One item (or chunk, or envelope, when it could not be taken apart) that is kept aside."""

    stage: Stage
    reason: str
    payload: bytes
    received_ms: int
    partition: int
    offset: int
    seq: int
    subject_id: str | None = None
    counts: bool = True
    """Whether it was received; a note about messages that Kafka had deleted was not."""


class Lost(Struct, frozen=True):
    """Messages that Kafka deleted before they were read: offsets first to next - 1."""

    first: int
    next: int


def lost_note(partition: int, first: int, next_: int, stamp_ms: int) -> Quarantined:
    """The note about messages first to next - 1, which nobody can read any more."""
    reason = gone(first, next_)
    return Quarantined(Stage.LOST, reason, b"", stamp_ms, partition, first, 0, counts=False)


def made_anew_note(
    partition: int, epoch: int, next_: int, offset: int, stamp_ms: int
) -> Quarantined:
    """The note about the topic before this one, beside the first message of the new one."""
    reason = made_anew(epoch, next_)
    return Quarantined(Stage.LOST, reason, b"", stamp_ms, partition, offset, 0, counts=False)


def quarantine_rows(topic: str, epoch: int, refused: Sequence[Quarantined]) -> pa.Table:
    """The refused as rows of the quarantine table."""
    return pa.table(
        {
            "subject_id": [q.subject_id for q in refused],
            "ts": [q.received_ms * 1000 for q in refused],
            "topic": [topic] * len(refused),
            "kafka_partition": [q.partition for q in refused],
            "kafka_offset": [q.offset for q in refused],
            "seq": [q.seq for q in refused],
            "stage": [q.stage.value for q in refused],
            "reason": [q.reason[:REASON_LETTERS] for q in refused],
            "payload": [_text(q.payload) for q in refused],
            "epoch": [epoch] * len(refused),
        },
        schema=arrow_schema(QUARANTINE),
    )


def _text(payload: bytes) -> str:
    return binascii.b2a_base64(payload[:PAYLOAD_BYTES], newline=False).decode()


def payload_of(text: str) -> bytes:
    """The bytes again, for who wants to send them once more."""
    return base64.b64decode(text)
