"""Which making of its topic a table reads, and what becomes of it when Kafka was made anew."""

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
    given: Settings, identity: TopicIdentity | None, ends: Mapping[int, int] | None = None
) -> BatchWriter:
    """A worker that was given partition 0 of the topic that has this identity."""
    drain = BatchWriter(given, CUSTOM_EVENT, Lookups())
    drain.assign_epoch(identity, ends or {0: 1_000})
    drain.next_offsets([0])
    return drain


def stored(given: Settings) -> list[tuple[object, ...]]:
    return rows(given, EVENTS, "epoch", "kafka_offset", "name")


def outside(folder: Path, **others: object) -> Settings:
    """Kafka is not our own."""
    return settings(folder, kafka="kafka.example:9092", **others)


def test_a_topic_made_anew_is_noticed_also_when_it_already_goes_beyond_the_table(
    tmp_path: Path,
) -> None:
    given = outside(tmp_path)
    assigned(given, FIRST).write([a_message(n, named(f"old {n}")) for n in range(2)])

    later = assigned(given, SECOND, {0: 1_000})

    assert later.epoch == 2
    assert later.next_offsets([0]) == {0: 0}
    later.write([a_message(n, named(f"new {n}")) for n in range(3)])
    assert stored(given) == [
        *[(1, 0, "old 0"), (1, 1, "old 1")],
        *[(2, 0, "new 0"), (2, 1, "new 1"), (2, 2, "new 2")],
    ]
    assert balance(given, LEDGER) == (5, 5, 0)


def test_how_far_the_lost_topic_was_read_is_on_record_once(tmp_path: Path) -> None:
    given = outside(tmp_path)
    assigned(given, FIRST).write([a_message(n, named("old")) for n in range(2)])
    assigned(given, SECOND)  # and ends before it stored anything

    later = assigned(given, SECOND)
    later.write([a_message(0, named("new"))])
    assigned(given, SECOND).write([a_message(1, named("newer"))])

    assert rows(given, QUARANTINE, "epoch", "stage", "kafka_offset", "reason") == [
        (
            2,
            "lost",
            0,
            "the topic was made anew: of the one before (epoch 1) messages up to 1 are stored; "
            "any acknowledged after them are lost",
        )
    ]


def test_a_copy_that_is_sent_again_after_kafka_was_lost_is_known(tmp_path: Path) -> None:
    given = outside(tmp_path)
    assigned(given, FIRST).write([a_message(0, WITH_ID)])

    again = assigned(given, SECOND).write([a_message(0, WITH_ID)])

    assert (again.rows, again.duplicates) == (0, 1)
    assert stored(given) == [(1, 0, "sale")]


def test_a_topic_that_comes_back_is_read_on_where_it_was(tmp_path: Path) -> None:
    given = outside(tmp_path)
    assigned(given, FIRST).write([a_message(0, named("a")), a_message(1, named("b"))])
    assigned(given, SECOND).write([a_message(0, named("c"))])

    back = assigned(given, FIRST)

    assert (back.epoch, back.next_offsets([0])) == (1, {0: 2})
    assert assigned(given, SECOND).next_offsets([0]) == {0: 1}


def test_another_cluster_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    given = outside(tmp_path)
    assigned(given, FIRST).write([a_message(0, named("ours"))])

    with pytest.raises(WrongCluster, match="set TIDEMARK_INGEST_EPOCH to 2"):
        assigned(given, ELSEWHERE)
    assert stored(given) == [(1, 0, "ours")]

    confirmed = outside(tmp_path, ingest_epoch=2)
    assert assigned(confirmed, ELSEWHERE).next_offsets([0]) == {0: 0}
    assert assigned(confirmed, TopicIdentity("third", "elsewhere")).epoch == 3


def test_the_own_broker_may_be_another_cluster_because_it_is_nobody_elses(tmp_path: Path) -> None:
    given = settings(tmp_path)
    assigned(given, FIRST).write([a_message(0, named("a"))])

    assert assigned(given, ELSEWHERE).epoch == 2


def test_a_lake_from_before_ids_takes_the_topic_that_is_there(tmp_path: Path) -> None:
    given = outside(tmp_path)
    BatchWriter(given, CUSTOM_EVENT, Lookups()).write(
        [a_message(n, named("old")) for n in range(3)]
    )

    adopted = assigned(given, FIRST, {0: 3})

    assert (adopted.epoch, adopted.next_offsets([0])) == (1, {0: 3})
    assert assigned(given, SECOND).epoch == 2


def test_a_lake_from_before_ids_does_not_take_a_topic_that_ends_before_it(tmp_path: Path) -> None:
    given = outside(tmp_path)
    BatchWriter(given, CUSTOM_EVENT, Lookups()).write(
        [a_message(n, named("old")) for n in range(3)]
    )

    refused = assigned(given, SECOND, {0: 2})

    assert refused.next_offsets([0]) == {0: 3}  # which the worker refuses
    assert assigned(given, FIRST, {0: 3}).epoch == 1


def test_a_kafka_without_ids_is_believed_until_one_was_known(tmp_path: Path) -> None:
    given = outside(tmp_path)
    assigned(given, None).write([a_message(0, named("a"))])
    assert assigned(given, None).next_offsets([0]) == {0: 1}

    assigned(given, FIRST, {0: 1})
    with pytest.raises(Unreachable, match="does not report a topic id"):
        assigned(given, None)


def test_a_topic_that_changes_under_a_worker_ends_it(tmp_path: Path) -> None:
    drain = assigned(outside(tmp_path), FIRST)

    with pytest.raises(TopicReplaced):
        drain.assign_epoch(SECOND, {0: 5})


def test_the_identity_outlives_checkpoints(tmp_path: Path) -> None:
    given = outside(tmp_path)
    assigned(given, FIRST).write([a_message(0, named("a"))])
    checkpoint(LakeTable(given, EVENTS))
    log = tmp_path / "lake" / "events" / "_delta_log"
    for entry in sorted(log.glob("*.json"))[:-1]:
        entry.unlink()

    assert open_table(given.lake_url, EVENTS) is not None
    assert assigned(given, FIRST).next_offsets([0]) == {0: 1}
    assert assigned(given, SECOND).epoch == 2


def test_two_workers_that_meet_a_new_topic_at_once_agree(tmp_path: Path) -> None:
    given = outside(tmp_path)
    one, other = (
        BatchWriter(given, CUSTOM_EVENT, Lookups()),
        BatchWriter(given, CUSTOM_EVENT, Lookups()),
    )
    one.assign_epoch(FIRST, {0: 0})
    other.assign_epoch(FIRST, {1: 0})
    stale = BatchWriter(given, CUSTOM_EVENT, Lookups())

    assigned(given, SECOND)
    stale.assign_epoch(SECOND, {1: 0})

    assert (one.epoch, other.epoch, stale.epoch) == (1, 1, 2)
