"""Kafka messages whose chunk is decoded once, when they are fetched."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from schemas.envelope import Chunk, decode_chunk


class UnreadableChunk(Struct, frozen=True):
    """The bytes of a message that is no chunk, and why."""

    reason: str
    body: bytes


class KafkaMessage(Struct, frozen=True):
    """One Kafka message; its bytes are kept only when they are no chunk."""

    partition: int
    offset: int
    timestamp_ms: int
    chunk: Chunk | UnreadableChunk
    size: int
    """Bytes of the message in Kafka."""
    items: int
    """The number of items that its envelopes declare; 1 when it is no chunk."""
    acknowledge: Callable[[], Any] = lambda: None
    """Faust's ack: commits its offset to Kafka, for dashboards only. The table's offsets decide."""
    awaited: bool = False
    """Whether a request waits until it is stored."""
    request_ids: bytes = b""
    """Ids of the requests that its items came with, for logs."""
    spans: bytes = b""
    """The spans that sent it, for traces (`trace_headers`)."""


def open_message(
    partition: int,
    offset: int,
    timestamp_ms: int,
    body: bytes,
    acknowledge: Callable[[], Any] = lambda: None,
    request_ids: bytes = b"",
    spans: bytes = b"",
) -> KafkaMessage:
    """The message with its chunk decoded."""
    chunk: Chunk | UnreadableChunk
    awaited = False
    try:
        chunk = decode_chunk(body)
        items = sum(envelope.count for envelope in chunk.envelopes)
        awaited = any(envelope.awaited for envelope in chunk.envelopes)
    except ValueError as error:
        chunk, items = UnreadableChunk(str(error), body), 1
    return KafkaMessage(
        partition,
        offset,
        timestamp_ms,
        chunk,
        len(body),
        items,
        acknowledge,
        awaited,
        request_ids,
        spans,
    )


def split_batch(
    messages: Sequence[KafkaMessage], rows: int, size: int
) -> Iterator[Sequence[KafkaMessage]]:
    """The messages in parts of about `rows` items or `size` bytes, whichever comes first."""
    start = items = total_bytes = 0
    for index, message in enumerate(messages):
        if items >= rows or total_bytes >= size:
            yield messages[start:index]
            start, items, total_bytes = index, 0, 0
        items += message.items
        total_bytes += message.size
    yield messages[start:]
