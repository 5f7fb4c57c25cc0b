"""The epoch of a topic that a table reads, and what happens when topic or Kafka is recreated."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_table import open_table
from schemas.lake.topic_identity import TopicIdentity
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.vacuum import checkpoint
from stream.runtime.errors import TopicReplaced, Unreachable, WrongCluster
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, an_envelope, balance, named, rows, settings

FIRST = TopicIdentity("first", "home")
SECOND = TopicIdentity("second", "home")
ELSEWHERE = TopicIdentity("first of another", "elsewhere")
WITH_ID = an_envelope([{"name": "sale", "eventId": "order-1"}])


def assigned(
    config: Settings, identity: TopicIdentity | None, ends: Mapping[int, int] | None = None
) -> BatchWriter:
    """A worker that was given partition 0 of the topic that has this identity."""
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    writer.assign_topic(identity, ends or {0: 1_000})
    writer.assign_partitions([0])
    return writer


def stored(config: Settings) -> list[tuple[object, ...]]:
    return rows(config, EVENTS, "epoch", "kafka_offset", "name")


def outside(folder: Path, **others: object) -> Settings:
    """Kafka is not our own."""
    return settings(folder, kafka="kafka.example:9092", **others)


def test_a_recreated_topic_is_detected_also_when_it_has_more_messages_than_the_table(
    tmp_path: Path,
) -> None:
    config = outside(tmp_path)
    assigned(config, FIRST).write([a_message(n, named(f"old {n}")) for n in range(2)])

    later = assigned(config, SECOND, {0: 1_000})

    assert later.epoch == 2
    assert later.assign_partitions([0]) == {0: 0}
    later.write([a_message(n, named(f"new {n}")) for n in range(3)])
    assert stored(config) == [
        *[(1, 0, "old 0"), (1, 1, "old 1")],
        *[(2, 0, "new 0"), (2, 1, "new 1"), (2, 2, "new 2")],
    ]
    assert balance(config, LEDGER) == (5, 5, 0)


def test_the_offset_up_to_which_the_lost_topic_was_read_is_quarantined_once(tmp_path: Path) -> None:
    config = outside(tmp_path)
    assigned(config, FIRST).write([a_message(n, named("old")) for n in range(2)])
    assigned(config, SECOND)  # and ends before it stored anything

    later = assigned(config, SECOND)
    later.write([a_message(0, named("new"))])
    assigned(config, SECOND).write([a_message(1, named("newer"))])

    assert rows(config, QUARANTINE, "epoch", "stage", "kafka_offset", "reason") == [
        (
            2,
            "lost",
            0,
            "the topic was made anew: of the one before (epoch 1) messages up to 1 are stored; "
            "any acknowledged after them are lost",
        )
    ]


def test_a_duplicate_sent_after_kafka_was_lost_is_recognized(tmp_path: Path) -> None:
    config = outside(tmp_path)
    assigned(config, FIRST).write([a_message(0, WITH_ID)])

    again = assigned(config, SECOND).write([a_message(0, WITH_ID)])

    assert (again.rows, again.duplicates) == (0, 1)
    assert stored(config) == [(1, 0, "sale")]


def test_a_topic_that_returns_is_read_from_its_earlier_offset(tmp_path: Path) -> None:
    config = outside(tmp_path)
    assigned(config, FIRST).write([a_message(0, named("a")), a_message(1, named("b"))])
    assigned(config, SECOND).write([a_message(0, named("c"))])

    back = assigned(config, FIRST)

    assert (back.epoch, back.assign_partitions([0])) == (1, {0: 2})
    assert assigned(config, SECOND).assign_partitions([0]) == {0: 1}


def test_another_cluster_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    config = outside(tmp_path)
    assigned(config, FIRST).write([a_message(0, named("ours"))])

    with pytest.raises(WrongCluster, match="set TIDEMARK_INGEST_EPOCH to 2"):
        assigned(config, ELSEWHERE)
    assert stored(config) == [(1, 0, "ours")]

    confirmed = outside(tmp_path, ingest_epoch=2)
    assert assigned(confirmed, ELSEWHERE).assign_partitions([0]) == {0: 0}
    assert assigned(confirmed, TopicIdentity("third", "elsewhere")).epoch == 3


def test_the_broker_in_the_data_folder_may_become_another_cluster(tmp_path: Path) -> None:
    config = settings(tmp_path)
    assigned(config, FIRST).write([a_message(0, named("a"))])

    assert assigned(config, ELSEWHERE).epoch == 2


def test_a_lake_from_before_topic_ids_adopts_the_topic(tmp_path: Path) -> None:
    config = outside(tmp_path)
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write(
        [a_message(n, named("old")) for n in range(3)]
    )

    adopted = assigned(config, FIRST, {0: 3})

    assert (adopted.epoch, adopted.assign_partitions([0])) == (1, {0: 3})
    assert assigned(config, SECOND).epoch == 2


def test_a_lake_from_before_topic_ids_does_not_adopt_a_topic_that_ends_before_it(
    tmp_path: Path,
) -> None:
    config = outside(tmp_path)
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write(
        [a_message(n, named("old")) for n in range(3)]
    )

    refused = assigned(config, SECOND, {0: 2})

    assert refused.assign_partitions([0]) == {0: 3}  # which the worker refuses
    assert assigned(config, FIRST, {0: 3}).epoch == 1


def test_a_kafka_without_topic_ids_is_accepted_until_one_was_recorded(tmp_path: Path) -> None:
    config = outside(tmp_path)
    assigned(config, None).write([a_message(0, named("a"))])
    assert assigned(config, None).assign_partitions([0]) == {0: 1}

    assigned(config, FIRST, {0: 1})
    with pytest.raises(Unreachable, match="does not report a topic id"):
        assigned(config, None)


def test_a_topic_recreated_under_a_worker_ends_it(tmp_path: Path) -> None:
    writer = assigned(outside(tmp_path), FIRST)

    with pytest.raises(TopicReplaced):
        writer.assign_topic(SECOND, {0: 5})


def test_the_identity_outlives_checkpoints(tmp_path: Path) -> None:
    config = outside(tmp_path)
    assigned(config, FIRST).write([a_message(0, named("a"))])
    checkpoint(LakeTable(config, EVENTS))
    log = tmp_path / "lake" / "events" / "_delta_log"
    for entry in sorted(log.glob("*.json"))[:-1]:
        entry.unlink()

    assert open_table(config.lake_url, EVENTS) is not None
    assert assigned(config, FIRST).assign_partitions([0]) == {0: 1}
    assert assigned(config, SECOND).epoch == 2


def test_two_workers_that_see_a_new_topic_at_once_agree(tmp_path: Path) -> None:
    config = outside(tmp_path)
    one, other = (
        BatchWriter(config, CUSTOM_EVENT, Lookups()),
        BatchWriter(config, CUSTOM_EVENT, Lookups()),
    )
    one.assign_topic(FIRST, {0: 0})
    other.assign_topic(FIRST, {1: 0})
    stale = BatchWriter(config, CUSTOM_EVENT, Lookups())

    assigned(config, SECOND)
    stale.assign_topic(SECOND, {1: 0})

    assert (one.epoch, other.epoch, stale.epoch) == (1, 1, 2)
