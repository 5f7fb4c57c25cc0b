"""The disk floor: requests are refused before the disk is full, and accepted again later."""

from pathlib import Path
from typing import Any

import pytest

from ingest.publishing.disk_floor import MIB, DiskFloor
from ingest.publishing.producer import KAFKA_UNAVAILABLE, KafkaProducer
from schemas.errors import Unavailable
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import NOW, FixedSnapshotSource, in_memory_collector
from tests.ingest.lone_collector import lone_collector


class Disk:
    """A disk of which a test says how much is free."""

    def __init__(self, total: int, free: int) -> None:
        self.total, self.free = total * MIB, free * MIB

    def usage(self, _folder: Path) -> tuple[int, int, int]:
        return self.total, self.total - self.free, self.free

    def floor(self, **settings: Any) -> DiskFloor:
        return DiskFloor(Settings(**settings), self.usage)


def is_full(floor: DiskFloor, size: int = 0) -> bool:
    try:
        floor.reserve(size)
    except Unavailable:
        return True
    return False


def test_requests_are_refused_below_the_floor_and_accepted_above_it() -> None:
    disk = Disk(total=100_000, free=513)
    floor = disk.floor()
    assert not is_full(floor)

    disk.free = 511 * MIB
    floor.poll()

    assert floor.unavailable_reason == (
        "The disk is full: 511 MB free, minimum 512 MB. Nothing was accepted; retry later"
    )
    with pytest.raises(Unavailable) as refused:
        floor.reserve(1)
    assert (refused.value.status, refused.value.retry_after) == (503, 10)
    disk.free = 600 * MIB
    floor.poll()
    assert not is_full(floor)


@pytest.mark.parametrize(
    ("total", "floor_mb"), [(64, 16), (700, 35), (5_000, 250), (10_240, 512), (1_000_000, 512)]
)
def test_the_floor_is_lower_on_a_small_disk(total: int, floor_mb: int) -> None:
    assert not is_full(Disk(total, floor_mb).floor())
    assert is_full(Disk(total, floor_mb - 1).floor())


def test_bytes_sent_between_two_polls_count_twice() -> None:
    """Once in its topic, and no more than once in the tables."""
    floor = Disk(total=700, free=35 + 20).floor()

    assert [is_full(floor, 4 * MIB) for _ in range(3)] == [False, False, True]
    floor.poll()
    assert not is_full(floor, 4 * MIB)


def test_other_collectors_are_assumed_to_send_as_much() -> None:
    floor = Disk(total=700, free=35 + 20).floor(collectors=3)

    assert [is_full(floor, 3 * MIB) for _ in range(2)] == [False, True]


def test_the_disk_is_not_watched_when_kafka_is_elsewhere() -> None:
    assert not is_full(Disk(700, 1).floor(kafka="kafka.example:9092"))
    assert is_full(Disk(700, 99).floor(kafka="kafka.example:9092", disk_floor_mb=100))


def test_a_full_disk_is_the_error_and_shown_in_health(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), disk_floor_mb=2**40)
    producer, registry = KafkaProducer(settings, ["events"]), in_memory_collector(tmp_path).registry
    assert isinstance(registry, FixedSnapshotSource)
    app = lone_collector(producer, registry, lambda: NOW, settings, disk_floor=producer.disk)

    refused = request_once(app, "POST", "/track?website_id=shop", {"name": "a"})

    assert (refused.status, refused.json["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert refused.headers["retry-after"] == "10"
    assert refused.json["message"].startswith("The disk is full")
    health = request_once(app, "GET", "/health/ready")
    assert health.status == 503
    assert health.json["checks"]["disk"] == refused.json["message"]


def test_with_free_space_the_error_is_kafka(tmp_path: Path) -> None:
    producer = KafkaProducer(Settings(data_dir=str(tmp_path), disk_floor_mb=1), ["events"])

    with pytest.raises(Unavailable, match=KAFKA_UNAVAILABLE):
        producer.enqueue("events", 0, [b"x"], 1)


def test_a_request_refused_for_another_reason_reserves_no_bytes(tmp_path: Path) -> None:
    producer = KafkaProducer(Settings(data_dir=str(tmp_path), disk_floor_mb=1), ["events"])

    for _ in range(3):
        with pytest.raises(Unavailable, match=KAFKA_UNAVAILABLE):
            producer.enqueue("events", 0, [bytes(MIB)], 1)

    assert producer.disk._sent == 0
