"""A real Kafka, a collector process, and a collector in this process without Kafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.kafka.broker import Broker
from tests.ingest.collector_process import CollectorProcess, start_collector
from tests.ingest.in_memory_collector import InMemoryCollector, in_memory_collector
from tests.installation import format_storage, free_port


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One node for all tests that leave it running."""
    folder = tmp_path_factory.mktemp("ingest") / "broker"
    format_storage(folder)
    with Broker(folder, free_port(), free_port()) as broker:
        yield broker


@pytest.fixture(scope="session")
def collector_process(
    tmp_path_factory: pytest.TempPathFactory, broker: Broker
) -> Iterator[CollectorProcess]:
    """One collector for all tests that leave it as it was."""
    with start_collector(tmp_path_factory.mktemp("collector"), broker) as collector_process:
        yield collector_process


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """A node that a test may freeze and kill."""
    format_storage(tmp_path / "broker")
    broker = Broker(tmp_path / "broker", free_port(), free_port())
    yield broker
    broker.kill()


@pytest.fixture
def collector(tmp_path: Path) -> InMemoryCollector:
    """With a registry of its own; what it publishes stays in memory."""
    return in_memory_collector(tmp_path)
