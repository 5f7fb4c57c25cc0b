"""Acknowledged items are counted by topic, website and hour, and written to disk."""

from pathlib import Path

import pytest

from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.partition_queue import DeliveryStatus
from schemas.acknowledged_counts import ACKNOWLEDGED_FOLDER, read_hours
from tests.ingest.in_memory_collector import NOW, InMemoryCollector, in_memory_collector

HOUR = NOW // 3_600_000 * 3_600_000


@pytest.fixture
def acknowledged_counter(tmp_path: Path) -> AcknowledgedCounter:
    return AcknowledgedCounter(tmp_path, "collector-1", lambda: NOW)


@pytest.fixture
def collector(tmp_path: Path, acknowledged_counter: AcknowledgedCounter) -> InMemoryCollector:
    return in_memory_collector(tmp_path, acknowledged_counter=acknowledged_counter)


def test_each_website_has_its_own_count_also_in_a_request_of_several(
    collector: InMemoryCollector, acknowledged_counter: AcknowledgedCounter, tmp_path: Path
) -> None:
    collector.post("/track?website_id=shop", [{"name": "a"}, {"name": "b"}])
    items = [{"name": "a", "websiteId": site} for site in ("shop", "blog", "shop")]
    collector.post("/track", items, key="acme")
    collector.post(
        "/vitals?website_id=shop", [{"path": "/", "metricName": "LCP", "metricValue": 1}]
    )

    acknowledged_counter.write()
    acknowledged_counter.write()  # sums since the start: what is written twice counts once

    assert read_hours(tmp_path / ACKNOWLEDGED_FOLDER) == {
        HOUR: {("events", "shop"): 4, ("events", "blog"): 1, ("vitals", "shop"): 1}
    }


@pytest.mark.parametrize("outcome", [DeliveryStatus.UNKNOWN, DeliveryStatus.NOT_SENT])
def test_what_was_not_acknowledged_is_not_counted(
    collector: InMemoryCollector,
    acknowledged_counter: AcknowledgedCounter,
    tmp_path: Path,
    outcome: DeliveryStatus,
) -> None:
    collector.producer.outcome = outcome

    assert collector.post("/track?website_id=shop", {"name": "a"}).status == 503
    acknowledged_counter.write()

    assert read_hours(tmp_path / ACKNOWLEDGED_FOLDER) == {}


def test_counts_are_kept_while_the_disk_is_full(
    acknowledged_counter: AcknowledgedCounter, tmp_path: Path
) -> None:
    acknowledged_counter.add("events", "shop", NOW, 2)
    (tmp_path / ACKNOWLEDGED_FOLDER).write_text("in the way")
    with pytest.raises(OSError, match="acknowledged"):
        acknowledged_counter.write()
    (tmp_path / ACKNOWLEDGED_FOLDER).unlink()

    acknowledged_counter.add("events", "shop", NOW, 1)
    acknowledged_counter.write()

    assert read_hours(tmp_path / ACKNOWLEDGED_FOLDER) == {HOUR: {("events", "shop"): 3}}
