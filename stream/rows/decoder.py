"""Decodes the items of Kafka messages into rows; what cannot be decoded is quarantined."""

import types
from array import array
from collections.abc import Sequence
from functools import cache

import msgspec
import numpy as np
from msgspec import Raw, Struct

from schemas.envelope import Envelope
from schemas.items import Item
from schemas.kinds import Kind
from stream.rows.kafka_message import KafkaMessage, UnreadableChunk
from stream.rows.ledger import HOUR_MS, LedgerCounts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage, replayed_entry
from stream.rows.repeated_column import RepeatedColumn
from stream.rows.row_batch import KEY_COLUMNS, RowBatch

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors that msgspec raises on malformed bytes."""


MAX_RECEIVED_MS = 4_102_444_800_000
"""Year 2100: no collector writes a later time of receipt."""


class DecodedBatch(Struct, frozen=True):
    """The rows of a batch, and the entries of what could not be decoded."""

    rows: RowBatch
    quarantined: list[QuarantineEntry]
    replayed: list[QuarantineEntry] = []
    """An entry for each item that is sent again from the quarantine."""


def decode_batch(
    kind: Kind, messages: Sequence[KafkaMessage], counts: LedgerCounts
) -> DecodedBatch:
    """Decode all items of the messages; `counts` counts them as received."""
    decoder = _Decoder(kind, counts)
    for message in messages:
        decoder.decode_message(message)
    return DecodedBatch(decoder.rows(), decoder.quarantined, decoder.replayed)


class _Decoder:
    def __init__(self, kind: Kind, counts: LedgerCounts) -> None:
        self._items: list[Item] = []
        self._envelopes: list[Envelope] = []
        self._positions: list[int] = []
        """Position of each envelope's first item in the chunk."""
        self._lengths: list[int] = []
        """Number of items of each envelope."""
        self._messages: list[KafkaMessage] = []
        self._message_rows: list[int] = []
        self._envelope_indexes: dict[int, int] = {}
        self.quarantined: list[QuarantineEntry] = []
        self.replayed: list[QuarantineEntry] = []
        self._kind = kind
        self._counts = counts
        self._decode = _items_decoder(kind.item).decode

    def decode_message(self, message: KafkaMessage) -> None:
        chunk = message.chunk
        if isinstance(chunk, UnreadableChunk):
            self._receive(message, None, message.timestamp_ms, 1)
            self._quarantine(message, 0, None, message.timestamp_ms, chunk.reason, chunk.body)
            return
        before = len(self._items)
        self._decode_envelopes(message, chunk.envelopes)
        self._messages.append(message)
        self._message_rows.append(len(self._items) - before)

    def rows(self) -> RowBatch:
        """The rows of all that was decoded."""
        lengths = np.array(self._lengths, np.int64)
        begins = np.cumsum(lengths) - lengths
        numbers = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        positions = (np.array(self._positions, np.int64) - begins)[numbers] + np.arange(
            len(numbers)
        )
        of_messages = [
            np.repeat(np.array(values, np.int64), np.array(self._message_rows, np.int64))
            for values in (
                [message.partition for message in self._messages],
                [message.offset for message in self._messages],
            )
        ]
        keys = (array("q", values.tobytes()) for values in (*of_messages, positions))
        envelopes = RepeatedColumn(self._envelopes, numbers)
        rows = RowBatch(
            self._kind, self._items, envelopes, dict(zip(KEY_COLUMNS, keys, strict=True))
        )
        rows.envelope_indexes = self._envelope_indexes
        return rows

    def _decode_envelopes(self, message: KafkaMessage, envelopes: Sequence[Envelope]) -> None:
        """Decode the envelopes; most have one item, so that little is done for each."""
        received: dict[tuple[str, int], int] = {}
        seq = 0
        for envelope in envelopes:
            if not 0 <= envelope.received_ms < MAX_RECEIVED_MS:
                seq += self._envelope_without_time(message, envelope, seq)
                continue
            if envelope.drop_reason:
                self._counts.add_refused(envelope, message.partition, message.offset)
                seq += envelope.count
                continue
            if envelope.replay_of:
                at = message.partition, message.offset, seq
                self.replayed.append(replayed_entry(envelope, *at))
            try:
                items = self._decode(envelope.items)
            except DECODE_ERRORS:
                seq += self._item_by_item(message, envelope, seq)
                continue
            count = len(items)
            hour = envelope.subject_id, envelope.received_ms // HOUR_MS
            received[hour] = received.get(hour, 0) + count
            if count:
                self._add(envelope, items, seq, 0)
            seq += count
        for (subject, number), count in received.items():
            self._receive(message, subject, number * HOUR_MS, count)

    def _envelope_without_time(self, message: KafkaMessage, envelope: Envelope, seq: int) -> int:
        """Quarantine an envelope with an impossible time of receipt, under the message's time."""
        self._receive(message, envelope.subject_id, message.timestamp_ms, 1)
        reason = f"received_ms {envelope.received_ms}"
        timestamp_ms = message.timestamp_ms
        self._quarantine(message, seq, envelope.subject_id, timestamp_ms, reason, envelope.items)
        return 1

    def _item_by_item(self, message: KafkaMessage, envelope: Envelope, seq: int) -> int:
        try:
            raws = _raw_decoder.decode(envelope.items)
        except DECODE_ERRORS as error:
            self._receive(message, envelope.subject_id, envelope.received_ms, 1)
            self._quarantine_item(message, seq, envelope, str(error), envelope.items)
            return 1
        self._receive(message, envelope.subject_id, envelope.received_ms, len(raws))
        for index, raw in enumerate(raws, seq):
            try:
                item = _item_decoder(self._kind.item).decode(raw)
            except DECODE_ERRORS as error:
                self._quarantine_item(message, index, envelope, str(error), bytes(raw))
            else:
                self._add(envelope, [item], index, index - seq)
        return len(raws)

    def _add(self, envelope: Envelope, items: list[Item], seq: int, start: int) -> None:
        """Add decoded items; the first has this position in the chunk and index in its envelope."""
        if envelope.idempotency_key:
            first, count = len(self._items), len(items)
            self._envelope_indexes |= zip(
                range(first, first + count), range(start, start + count), strict=True
            )
        self._items += items
        self._envelopes.append(envelope)
        self._positions.append(seq)
        self._lengths.append(len(items))

    def _receive(
        self, message: KafkaMessage, subject: str | None, received_ms: int, count: int
    ) -> None:
        self._counts.add_received(subject, received_ms, message.partition, message.offset, count)

    def _quarantine_item(
        self, message: KafkaMessage, seq: int, envelope: Envelope, reason: str, payload: bytes
    ) -> None:
        self._quarantine(message, seq, envelope.subject_id, envelope.received_ms, reason, payload)

    def _quarantine(
        self,
        message: KafkaMessage,
        seq: int,
        subject: str | None,
        received_ms: int,
        reason: str,
        payload: bytes,
    ) -> None:
        self.quarantined.append(
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
