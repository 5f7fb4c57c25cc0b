"""Counters whose labels are known exist with 0 before their first event, as alerts need it."""

from pathlib import Path

import pytest

from schemas.http.admission import Admission
from schemas.http.limits import RateLimiter
from schemas.kinds import CUSTOM_EVENT
from schemas.telemetry.instruments import REGISTRY
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
