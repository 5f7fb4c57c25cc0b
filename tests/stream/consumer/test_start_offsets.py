"""Reading starts at the table's next offset, or where the messages that Kafka still has begin."""

from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT, WEB_VITAL
from schemas.lake.topic_identity import TopicIdentity
from schemas.tables import QUARANTINE
from stream.consumer.start_offsets import PartitionOffsets, assign_writers
from stream.enrich.rules.lookups import Lookups
from stream.runtime.errors import OffsetOutOfRange
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, named, rows, settings

TOPIC = TopicIdentity("first", "home")


def writers(folder: Path) -> dict[str, BatchWriter]:
    """Writers of two topics; the table has offsets 0 to 2 of the first."""
    events = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    events.write([a_message(offset, named("a")) for offset in range(3)])
    return {"events": events, "vitals": BatchWriter(settings(folder), WEB_VITAL, Lookups())}


def test_each_partition_starts_at_the_next_offset_of_its_table(tmp_path: Path) -> None:
    kafka_offsets = {
        ("events", 0): PartitionOffsets(0, 9),
        ("events", 1): PartitionOffsets(0, 4),
        ("vitals", 0): PartitionOffsets(0, 0),
    }

    starts = assign_writers(
        settings(tmp_path), writers(tmp_path), kafka_offsets, {"events": TOPIC, "vitals": TOPIC}
    )

    assert starts == {("events", 0): 3, ("events", 1): 0, ("vitals", 0): 0}


def test_deleted_messages_are_skipped_and_quarantined_as_a_range(tmp_path: Path) -> None:
    opened = writers(tmp_path)

    starts = assign_writers(
        settings(tmp_path), opened, {("events", 0): PartitionOffsets(7, 9)}, {"events": TOPIC}
    )
    opened["events"].write([a_message(7, named("b"))])

    assert starts == {("events", 0): 7}
    assert rows(settings(tmp_path), QUARANTINE, "stage", "first_offset", "next_offset") == [
        ("lost", 3, 7)
    ]


def test_a_topic_that_ends_before_the_next_offset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffsetOutOfRange, match="partition 0 ends at offset 2, but the table has"):
        assign_writers(
            settings(tmp_path), writers(tmp_path), {("events", 0): PartitionOffsets(0, 2)}, {}
        )
