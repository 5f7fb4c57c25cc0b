"""Finds the messages of a batch that the table does not hold, without gaps in their offsets.

Messages below the table's next offset are a replay and skipped. A gap above it is recorded in the
quarantine when the assignment found its reason (Kafka deleted messages, or the topic was
recreated); any other gap would lose messages silently and ends the process.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from stream.rows.kafka_message import KafkaMessage
from stream.rows.quarantine import (
    OffsetRange,
    QuarantineEntry,
    lost_range_entry,
    recreated_topic_entry,
)
from stream.runtime.errors import OffsetGap
from stream.storage.delta_commit import OffsetUpdate
from stream.writing.writer_role import CommittedOffsets


class NewMessages(Struct, frozen=True):
    """The messages to store, the offsets that they move, and entries of what is lost."""

    messages: Sequence[KafkaMessage]
    offset_updates: dict[int, OffsetUpdate]
    """By partition."""
    quarantined: list[QuarantineEntry]


class ExplainedGaps:
    """The gaps in a topic's offsets whose reason was found when its partitions were assigned."""

    def __init__(self) -> None:
        self._lost: dict[int, OffsetRange] = {}
        self._previous_topics: dict[int, tuple[int, int]] = {}

    def add_lost_range(self, partition: int, lost: OffsetRange) -> None:
        """Record messages that Kafka deleted before they were read."""
        self._lost[partition] = lost

    def add_previous_topic(self, partition: int, epoch: int, next_offset: int) -> None:
        """Record up to where the topic before the recreation was stored."""
        self._previous_topics[partition] = epoch, next_offset

    @property
    def previous_topics(self) -> dict[int, tuple[int, int]]:
        """Epoch and next offset of the topic before the recreation, by partition."""
        return self._previous_topics

    def forget(self, partitions: Collection[int]) -> None:
        """Forget the gaps of these partitions: their entries were committed."""
        for partition in partitions:
            self._lost.pop(partition, None)
            self._previous_topics.pop(partition, None)

    def start_entries(self, message: KafkaMessage) -> list[QuarantineEntry]:
        """The entry of a recreated topic, at the first message that is stored of the new one."""
        previous = self._previous_topics.get(message.partition)
        if previous is None:
            return []
        return [
            recreated_topic_entry(
                message.partition, *previous, message.offset, message.timestamp_ms
            )
        ]

    def lost_entry(self, message: KafkaMessage, expected: int) -> QuarantineEntry | None:
        """The entry of deleted messages from `expected` to this one; None when none is known."""
        lost = OffsetRange(expected, message.offset)
        if self._lost.get(message.partition) != lost:
            return None
        return lost_range_entry(message.partition, lost, message.timestamp_ms)


def find_new_messages(
    messages: Sequence[KafkaMessage], offsets: CommittedOffsets, gaps: ExplainedGaps
) -> NewMessages:
    """The messages that the table does not hold; OffsetGap when some are missing before them."""
    new: list[KafkaMessage] = []
    starts: dict[int, int] = {}
    nexts: dict[int, int] = {}
    entries: list[QuarantineEntry] = []
    for message in sorted(messages, key=lambda m: (m.partition, m.offset)):
        partition, offset = message.partition, message.offset
        if partition not in starts:
            starts[partition] = nexts[partition] = offsets.next_offset(partition)
            if not starts[partition]:
                entries += gaps.start_entries(message)
        if offset < nexts[partition]:
            continue
        if offset > nexts[partition]:
            lost_entry = gaps.lost_entry(message, nexts[partition])
            if lost_entry is None:
                raise OffsetGap(
                    f"{offsets.topic}/{partition}: offset {offset} came, "
                    f"{nexts[partition]} was expected"
                )
            entries.append(lost_entry)
        new.append(message)
        nexts[partition] = offset + 1
    updates = {p: OffsetUpdate(starts[p], nexts[p]) for p in starts if nexts[p] > starts[p]}
    return NewMessages(new, updates, entries)
