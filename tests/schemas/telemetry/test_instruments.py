"""Counters whose labels are known exist with 0 before their first event, as alerts need it."""

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from schemas.http.admission import Admission
from schemas.http.limits import RateLimiter
from schemas.kinds import CUSTOM_EVENT
from schemas.telemetry.instruments import REGISTRY, ItemCounts
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.scheduler import MaintenanceScheduler
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import settings


def test_counters_of_a_worker_and_a_keeper_exist_before_their_first_event(tmp_path: Path) -> None:
    config = settings(tmp_path, topic_prefix="untouched.")
    BatchWriter(config, CUSTOM_EVENT, Lookups())
    MaintenanceScheduler(config)
    topic = {"topic": "untouched.events"}

    for stage in ("decode", "enrich", "write", "duplicate", "lost"):
        labels = {**topic, "stage": stage}
        assert REGISTRY.get_sample_value("tidemark_quarantined_items_total", labels) == 0
    for outcome in ("stored", "duplicate", "quarantined"):
        labels = {**topic, "outcome": outcome}
        assert REGISTRY.get_sample_value("tidemark_stored_rows_total", labels) == 0


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("tidemark_commit_seconds_count", {"table": "events", "outcome": "failed"}),
        ("tidemark_maintenance_task_failures_total", {"task": "vacuum", "table": "sessions"}),
        ("tidemark_limit_failures_total", {"counts": "server"}),
        ("tidemark_limited_requests_total", {"limit": "collect_network"}),
        ("tidemark_spans_total", {"outcome": "failed"}),
        ("tidemark_silent_websites", {}),
    ],
)
def test_a_series_exists(tmp_path: Path, name: str, labels: dict[str, str]) -> None:
    MaintenanceScheduler(settings(tmp_path))
    Admission(RateLimiter(), lambda: 0)

    assert REGISTRY.get_sample_value(name, labels) is not None


def test_items_are_counters_of_topic_and_outcome() -> None:
    registry = CollectorRegistry()
    counts = ItemCounts(registry)
    assert "tidemark_items_total{" not in generate_latest(registry).decode()

    for items in (1, 100):
        counts.add("events", "acknowledged", items)
    counts.add("events", "failed", 2)
    counts.add("errors", "acknowledged", 3)

    lines = generate_latest(registry).decode().splitlines()
    assert "# TYPE tidemark_items_total counter" in lines
    assert [line for line in lines if line.startswith("tidemark_items_total{")] == [
        'tidemark_items_total{outcome="acknowledged",topic="events"} 101.0',
        'tidemark_items_total{outcome="failed",topic="events"} 2.0',
        'tidemark_items_total{outcome="acknowledged",topic="errors"} 3.0',
    ]
