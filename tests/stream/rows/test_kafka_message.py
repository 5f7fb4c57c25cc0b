"""A chunk is decoded once, when its message is fetched; batches are split between messages."""

from schemas.envelope import Chunk
from stream.rows.kafka_message import UnreadableChunk, open_message, split_batch
from tests.stream.builders import NOON_MS, a_message, named


def test_a_chunk_is_decoded_and_its_bytes_are_not_kept() -> None:
    envelopes = [named("a", "b"), named("c")]

    message = a_message(7, *envelopes)

    assert message.chunk == Chunk(1, envelopes)
    assert message.items == 3
    assert message.size > sum(len(envelope.items) for envelope in envelopes)


def test_what_is_no_chunk_counts_as_one_item_and_keeps_its_bytes() -> None:
    message = open_message(0, 7, NOON_MS, b"\xff\xff")

    assert isinstance(message.chunk, UnreadableChunk)
    assert (message.chunk.body, message.items, message.size) == (b"\xff\xff", 1, 2)
    assert message.chunk.reason.startswith("not a chunk")


def test_a_batch_is_split_by_rows_between_messages() -> None:
    arrived = [a_message(offset, named(*"abcd")) for offset in range(5)]

    assert [[m.offset for m in portion] for portion in split_batch(arrived, 6, 9999)] == [
        [0, 1],
        [2, 3],
        [4],
    ]
    assert [len(portion) for portion in split_batch(arrived, 1000, 9999)] == [5]


def test_a_batch_of_large_items_is_split_by_its_bytes() -> None:
    body = b"x" * 100
    arrived = [a_message(offset, body=body) for offset in range(5)]

    assert [len(portion) for portion in split_batch(arrived, 1000, 200)] == [2, 2, 1]
    assert [len(portion) for portion in split_batch(arrived, 1000, 50)] == [1, 1, 1, 1, 1]
