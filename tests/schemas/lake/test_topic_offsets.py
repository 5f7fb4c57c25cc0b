"""Which messages a table does not have yet."""

from aiokafka import TopicPartition

from schemas.lake.topic_offsets import TopicOffsets, unread_offsets


def test_unread_messages_begin_at_the_next_offset_of_the_table() -> None:
    kafka = TopicOffsets(None, first={0: 0, 1: 10, 2: 0, 3: 5}, end={0: 7, 1: 12, 2: 4, 3: 5})

    assert unread_offsets("events", kafka, {0: 3, 1: 2, 2: 4}) == {
        TopicPartition("events", 0): 3,
        TopicPartition("events", 1): 10,  # the others before it were deleted
    }
    assert unread_offsets("events", kafka, {})[TopicPartition("events", 2)] == 0
