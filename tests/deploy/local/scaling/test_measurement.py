"""Rates are differences of offsets, and partitions have the worker that Kafka names."""

import pytest

from deploy.local.kafka.group_partitions import GroupMember
from deploy.local.scaling.measurement import NotMeasured, PartitionRate, measure, rates
from schemas.runtime.settings import Settings
from tests.installation import free_port


def test_rates_of_a_partition() -> None:
    at = ("events", 0)
    member = GroupMember("worker-2", "10.0.0.1", frozenset({at}))

    found = rates({at: (100, 40)}, {at: (150, 60)}, 10.0, {at: member})

    assert found == [PartitionRate("events", 0, 5.0, 2.0, 90, "worker-2 (10.0.0.1)")]


def test_a_partition_that_nobody_reads_and_one_that_was_added_meanwhile() -> None:
    found = rates({("events", 0): (5, 5)}, {("events", 0): (9, 5), ("events", 1): (1, 0)}, 4.0, {})

    assert found == [PartitionRate("events", 0, 1.0, 0.0, 4, None)]


def test_a_topic_that_was_recreated_has_no_negative_rates() -> None:
    at = ("events", 0)

    assert rates({at: (100, 90)}, {at: (3, 0)}, 1.0, {}) == [PartitionRate("events", 0, 0, 0, 3)]


def test_a_kafka_that_is_away_is_named() -> None:
    address = f"127.0.0.1:{free_port()}"

    with pytest.raises(NotMeasured, match=f"Kafka at {address} cannot be read"):
        measure(Settings(kafka=address), 0.1)
