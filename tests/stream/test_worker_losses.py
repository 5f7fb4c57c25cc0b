"""Lost messages, data files and topics: rows are recovered once, and what is lost is reported."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.structs import TopicPartition

from schemas.envelope import encode_chunk, encode_envelope
from schemas.kinds import CUSTOM_EVENT
from schemas.lake.damage_reports import DamageReports
from schemas.lake.topic_identity import TopicIdentity
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import read_heartbeats, refusal_reason
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.recovery.file_repair import NotRepaired, repair
from stream.recovery.topic_replay import topic_identity
from stream.storage.delta_commit import LakeTable
from stream.writing import topic_epochs
from stream.writing.batch_writer import BatchWriter
from tests.installation import eventually
from tests.stream.builders import a_message, an_envelope, rows, version
from tests.stream.kafka_site import Site


def test_deleted_messages_are_quarantined_as_a_range_and_the_rest_is_stored(site: Site) -> None:
    site.create_topics()
    site.send("a", "b", "c")
    topic_partition = TopicPartition(site.topic, 0)
    site.manage(
        lambda client: client.delete_records({topic_partition: RecordsToDelete(before_offset=2)})
    )
    site.start()

    eventually(lambda: site.stored() == ["c"])
    assert "messages were deleted from Kafka" in site.log.read_text()
    assert rows(site.settings, QUARANTINE, "kafka_offset", "reason") == [
        (0, "messages 0 to 1 were gone from Kafka, unread")
    ]


def views(*names: str) -> bytes:
    """A chunk of page views without sessions, by one visitor; their ids are their names."""
    items = [{"name": name, "eventId": name, "anonymousId": "v"} for name in names]
    return encode_chunk([encode_envelope(an_envelope(items, received_ms=now_ms()))])


def file_of(site: Site, name: str) -> Path:
    """The data file that holds the event of that name."""
    parts = [part.path for part in version(site.settings, EVENTS).data_files]
    [held] = [p for p in parts if name in pq.read_table(p, columns=["name"])["name"].to_pylist()]
    return Path(held)


def test_rows_of_a_lost_data_file_are_recovered_from_kafka_once_and_lost_ones_reported(
    site: Site,
) -> None:
    columns = ("name", "session_id", "epoch", "kafka_partition", "kafka_offset", "seq", "ts")
    chunks = [views("a", "b"), views("c", "a"), views("d")]
    site.create_topics()
    site.send_chunks(chunks)
    writer = BatchWriter(site.settings, CUSTOM_EVENT, Lookups())
    writer.assign_topic(topic_identity(site.settings, site.topic), {0: len(chunks)})
    writer.write([a_message(0, body=chunks[0])])
    writer.write([a_message(offset, body=chunks[offset]) for offset in (1, 2)])
    before = rows(site.settings, EVENTS, *columns)
    first, second = file_of(site, "a"), file_of(site, "c")

    first.unlink()
    back = repair(site.settings, f"events/{first.parent.name}/{first.name}", Lookups())

    assert (back.recovered, back.lost) == (2, 0)
    assert rows(site.settings, EVENTS, *columns) == before

    topic_partition = TopicPartition(site.topic, 0)
    site.manage(
        lambda client: client.delete_records({topic_partition: RecordsToDelete(before_offset=2)})
    )
    second.write_bytes(second.read_bytes()[:-1])
    path = f"events/{second.parent.name}/{second.name}"
    with pytest.raises(NotRepaired, match="restore the file from a backup"):
        repair(site.settings, path, Lookups())
    lost = repair(site.settings, path, Lookups(), accept_loss=True)

    assert (lost.recovered, lost.lost) == (1, 1)
    assert site.stored() == ["a", "b", "d"]
    account = rows(site.settings, LEDGER, "received", "stored", "duplicate", "dropped")
    assert [sum(column) for column in zip(*account, strict=True)] == [5, 3, 1, 1]
    assert (second.parents[1] / "_damaged" / second.name).exists()
    assert DamageReports(site.settings.data).files() == {}


def test_a_topic_recreated_while_no_worker_runs_loses_no_message(site: Site) -> None:
    site.create_topics()
    site.send("a", "b")
    site.start()
    eventually(lambda: site.stored() == ["a", "b"])
    assert site.stop() == 0
    assert not read_heartbeats(site.run)  # who was told to stop is not late

    site.manage(lambda client: client.delete_topics([site.topic]))
    eventually(lambda: created_again(site))
    site.send("c", "d", "e", "f")  # more than the table's next offset
    site.start()

    eventually(lambda: site.stored() == ["a", "b", "c", "d", "e", "f"])
    assert site.epochs() == [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)]
    assert "the topic was recreated" in site.log.read_text()
    [(offset, reason)] = rows(site.settings, QUARANTINE, "kafka_offset", "reason")
    assert (offset, reason.partition(";")[0]) == (
        0,
        "the topic was made anew: of the one before (epoch 1) messages up to 1 are stored",
    )


def test_a_topic_recreated_under_a_running_worker_loses_no_message(site: Site) -> None:
    site.create_topics()
    site.start()
    site.send("a", "b")
    eventually(lambda: site.stored() == ["a", "b"])

    site.manage(lambda client: client.delete_topics([site.topic]))
    eventually(lambda: created_again(site))
    site.send("c", "d", "e", "f")

    assert site.process is not None
    assert site.process.wait(60) == 75
    assert site.stored() == ["a", "b"]
    site.start()
    eventually(lambda: site.stored() == ["a", "b", "c", "d", "e", "f"])


def test_another_kafka_cluster_at_the_same_address_is_refused(site: Site) -> None:
    site.create_topics()
    site.send("a")
    table = LakeTable(site.settings, EVENTS)
    topic_epochs.assign_epoch(
        table, site.topic, TopicIdentity("theirs", "another"), {0: 0}, site.settings
    )

    assert site.start().wait(60) == 78

    assert "written from another cluster" in (refusal_reason(site.run, now_ms()) or "")
    assert site.stored() == []


def created_again(site: Site) -> bool:
    """Deletion takes Kafka a moment."""
    codes: list[int] = []

    async def create(client: AIOKafkaAdminClient) -> None:
        response = await client.create_topics([NewTopic(site.topic, 1, 1)])
        codes.extend(error[1] for error in response.topic_errors)

    site.manage(create)
    return codes == [0]
