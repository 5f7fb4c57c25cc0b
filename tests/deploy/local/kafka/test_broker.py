import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import process_list
from deploy.local.kafka.broker import Broker, BrokerFailed, KafkaUnavailable, broker_answers
from deploy.local.kafka.topics import TopicSpec, ensure_topics, partition_counts, required_topics
from schemas.runtime.settings import Settings
from tests.installation import free_port


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("kafka")
    with Broker(folder, port=free_port(), controller_port=free_port()) as running:
        yield running


def test_topics_are_made_with_their_partitions(broker: Broker) -> None:
    ensure_topics(Settings(kafka=broker.address), [TopicSpec("made", partitions=3)])

    assert partition_counts(Settings(kafka=broker.address), ["made", "never-made"]) == {
        "made": 3,
        "never-made": 0,
    }


def test_partitions_are_added_and_never_taken_away(broker: Broker) -> None:
    counts = []
    for wanted in (2, 5, 3):
        ensure_topics(Settings(kafka=broker.address), [TopicSpec("growing", partitions=wanted)])
        counts.append(partition_counts(Settings(kafka=broker.address), ["growing"])["growing"])

    assert counts == [2, 5, 5]


def test_more_copies_than_brokers_are_refused_by_name(broker: Broker) -> None:
    with pytest.raises(KafkaUnavailable, match="copied: Unable to replicate the partition 3 time"):
        ensure_topics(Settings(kafka=broker.address), [TopicSpec("copied", replication=3)])


def test_topics_outlive_a_killed_broker(broker: Broker) -> None:
    ensure_topics(Settings(kafka=broker.address), [TopicSpec("kept", partitions=4)])

    broker.kill()
    gone = broker_answers(broker.port)
    broker.start()

    assert gone is False
    assert partition_counts(Settings(kafka=broker.address), ["kept"]) == {"kept": 4}


def test_a_broker_whose_folder_is_deleted_while_it_runs_starts_anew(tmp_path: Path) -> None:
    node = Broker(tmp_path / "kafka", port=free_port(), controller_port=free_port())
    spec = process_list.broker_spec(Settings(), node)
    shutil.rmtree(node.folder)

    assert spec.before is not None
    spec.before()
    assert Path(spec.argv[-1]).is_file()
    assert (node.folder / "logs" / "meta.properties").is_file()


def test_a_broker_without_its_port_says_why_it_ended(broker: Broker, tmp_path: Path) -> None:
    second = Broker(tmp_path, port=free_port(), controller_port=broker.controller_port)

    with pytest.raises(BrokerFailed, match="Address already in use"):
        second.start()


def test_nobody_answers_on_a_free_port() -> None:
    with pytest.raises(KafkaUnavailable, match=r"^Kafka at 127\.0\.0\.1:1: "):
        partition_counts(Settings(kafka="127.0.0.1:1"), ["any"])


def test_each_kind_has_a_topic_as_the_settings_say() -> None:
    settings = Settings(topic_prefix="t-", partitions=16, replication=3, retention_hours=48)

    names = ("events", "vitals", "errors", "clicks", "engagement", "identities", "backfill")
    assert required_topics(settings) == [TopicSpec(f"t-{name}", 16, 3, 48) for name in names]
    assert required_topics(settings)[0].configuration == {
        "max.message.bytes": "4194304",
        "retention.ms": "172800000",
        "segment.ms": "86400000",
        "min.insync.replicas": "2",
    }
