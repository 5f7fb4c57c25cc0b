"""Kafka messages become rows: chunk, envelopes, items; what is none of these is quarantined."""

import types
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from schemas.envelope import Envelope, decode_chunk
from schemas.items import Item
from schemas.kinds import Kind
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.rows.row_batch import ROW_IDENTITY, RowBatch

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises on bytes that are not what they should be."""


MAX_RECEIVED_MS = 4_102_444_800_000
"""2100: a time of receipt beyond it was not written by a collector."""


class KafkaMessage(Struct, frozen=True):
    """One Kafka message."""

    partition: int
    offset: int
    timestamp_ms: int
    body: bytes
    acknowledge: Callable[[], Any]
    """Tells Kafka that it is stored; of use for dashboards only, the table is the truth."""
    items: int = 1
    """What its envelopes say that it holds."""


class DecodedBatch(Struct, frozen=True):
    """A batch taken apart."""

    rows: RowBatch
    quarantined: list[QuarantineEntry]


def decode_batch(
    kind: Kind, messages: Sequence[KafkaMessage], counts: LedgerCounts
) -> DecodedBatch:
    """All items of the messages; `tally` counts what was received."""
    decoder = _Decoder(kind, counts)
    for message in messages:
        decoder.decode_message(message)
    return DecodedBatch(decoder.rows, decoder.refused)


def split_batch(
    messages: Sequence[KafkaMessage], rows: int, size: int
) -> Iterator[Sequence[KafkaMessage]]:
    """The messages in portions of about so many items, or of about so many bytes."""
    start = items = total_bytes = 0
    for index, message in enumerate(messages):
        if items >= rows or total_bytes >= size:
            yield messages[start:index]
            start, items, total_bytes = index, 0, 0
        items += message.items
        total_bytes += len(message.body)
    yield messages[start:]


def items_of(body: bytes) -> int:
    """How many items a message says that it holds; 1 when it is no chunk."""
    try:
        return sum(envelope.count for envelope in decode_chunk(body).envelopes)
    except ValueError:
        return 1


class _Decoder:
    def __init__(self, kind: Kind, counts: LedgerCounts) -> None:
        self.rows = RowBatch(kind, [], [], {name: [] for name in ROW_IDENTITY})
        self.refused: list[QuarantineEntry] = []
        self._kind = kind
        self._counts = counts

    def decode_message(self, message: KafkaMessage) -> None:
        try:
            chunk = decode_chunk(message.body)
        except ValueError as error:
            self._receive(message, None, message.timestamp_ms, 1)
            self._refuse(message, 0, None, message.timestamp_ms, str(error), message.body)
            return
        seq = 0
        for envelope in chunk.envelopes:
            if envelope.request_id:
                self.rows.first_seq[id(envelope)] = seq
            if 0 <= envelope.received_ms < MAX_RECEIVED_MS:
                seq += self._envelope(message, envelope, seq)
            else:
                seq += self._envelope_without_time(message, envelope, seq)

    def _envelope(self, message: KafkaMessage, envelope: Envelope, seq: int) -> int:
        """Take one envelope apart; answers how many positions of the chunk it takes."""
        try:
            items = _items_decoder(self._kind.item).decode(envelope.items)
        except DECODE_ERRORS:
            return self._item_by_item(message, envelope, seq)
        self._receive(message, envelope.subject_id, envelope.received_ms, len(items))
        self._add(message, envelope, items, range(seq, seq + len(items)))
        return len(items)

    def _envelope_without_time(self, message: KafkaMessage, envelope: Envelope, seq: int) -> int:
        """An envelope whose instant no table could keep; the message's is taken."""
        self._receive(message, envelope.subject_id, message.timestamp_ms, 1)
        reason = f"received_ms {envelope.received_ms}"
        timestamp_ms = message.timestamp_ms
        self._refuse(message, seq, envelope.subject_id, timestamp_ms, reason, envelope.items)
        return 1

    def _item_by_item(self, message: KafkaMessage, envelope: Envelope, seq: int) -> int:
        try:
            raws = _raw_decoder.decode(envelope.items)
        except DECODE_ERRORS as error:
            self._receive(message, envelope.subject_id, envelope.received_ms, 1)
            self._refuse_item(message, seq, envelope, str(error), envelope.items)
            return 1
        self._receive(message, envelope.subject_id, envelope.received_ms, len(raws))
        for index, raw in enumerate(raws, seq):
            try:
                item = _item_decoder(self._kind.item).decode(raw)
            except DECODE_ERRORS as error:
                self._refuse_item(message, index, envelope, str(error), bytes(raw))
            else:
                self._add(message, envelope, [item], range(index, index + 1))
        return len(raws)

    def _add(
        self, message: KafkaMessage, envelope: Envelope, items: list[Item], positions: range
    ) -> None:
        count = len(items)
        rows = self.rows
        rows.items += items
        rows.envelopes += [envelope] * count
        rows.columns["kafka_partition"] += [message.partition] * count
        rows.columns["kafka_offset"] += [message.offset] * count
        rows.columns["seq"] += positions

    def _receive(
        self, message: KafkaMessage, subject: str | None, received_ms: int, count: int
    ) -> None:
        self._counts.add_received(subject, received_ms, message.partition, message.offset, count)

    def _refuse_item(
        self, message: KafkaMessage, seq: int, envelope: Envelope, reason: str, payload: bytes
    ) -> None:
        self._refuse(message, seq, envelope.subject_id, envelope.received_ms, reason, payload)

    def _refuse(
        self,
        message: KafkaMessage,
        seq: int,
        subject: str | None,
        received_ms: int,
        reason: str,
        payload: bytes,
    ) -> None:
        self.refused.append(
            QuarantineEntry(
                QuarantineStage.DECODE,
                reason,
                payload,
                received_ms,
                message.partition,
                message.offset,
                seq,
                subject,
            )
        )


_raw_decoder = msgspec.json.Decoder(list[Raw])


@cache
def _items_decoder(item: type[Item]) -> msgspec.json.Decoder[list[Item]]:
    return msgspec.json.Decoder(types.GenericAlias(list, (item,)))


@cache
def _item_decoder(item: type[Item]) -> msgspec.json.Decoder[Item]:
    return msgspec.json.Decoder(item)
