"""Records of one fetch travel as one message, and come out as they were."""

import dataclasses

from aiokafka.structs import ConsumerRecord

from schemas.envelope import encode_chunk, encode_envelope
from schemas.kafka.request_ids import HEADER
from stream.faust_adapter import as_one, messages
from stream.rows.kafka_message import UnreadableChunk
from tests.stream.builders import NOON_MS, named


def a_record(offset: int, body: bytes | None) -> ConsumerRecord[bytes, bytes]:
    size = len(body or b"")
    return ConsumerRecord("events", 3, offset, NOON_MS + offset, 0, None, body, None, -1, size, ())


def test_records_become_messages_in_order_and_the_last_acknowledges_all() -> None:
    acknowledged: list[int] = []
    chunk = encode_chunk([encode_envelope(named("a", "b"))])
    merged = as_one([a_record(7, chunk), a_record(8, None), a_record(10, b"garbage")])

    first, empty, last = messages(3, merged.value, lambda: acknowledged.append(10))

    assert (merged.offset, merged.timestamp) == (10, NOON_MS + 10)
    assert [(m.partition, m.offset, m.timestamp_ms) for m in (first, empty, last)] == [
        (3, 7, NOON_MS + 7),
        (3, 8, NOON_MS + 8),
        (3, 10, NOON_MS + 10),
    ]
    assert (first.items, first.size) == (2, len(chunk))
    assert isinstance(empty.chunk, UnreadableChunk)
    assert last.chunk == UnreadableChunk(last.chunk.reason, b"garbage")  # type: ignore[union-attr]
    first.acknowledge()
    empty.acknowledge()
    assert not acknowledged
    last.acknowledge()
    assert acknowledged == [10]


def test_a_message_keeps_the_ids_of_its_requests() -> None:
    record = dataclasses.replace(a_record(7, b""), headers=[("other", b"x"), (HEADER, b"r1 r2")])

    first, second = messages(3, as_one([record, a_record(8, b"")]).value, lambda: None)

    assert (first.request_ids, second.request_ids) == (b"r1 r2", b"")
