"""A worker on a broker, and a lake whose table of events has several versions."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.kafka.broker import Broker
from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_log import (
    LOG_FOLDER,
)
from schemas.runtime.settings import Settings
from stream.enrich.rules.lookups import Lookups
from stream.writing.batch_writer import BatchWriter
from tests.installation import format_storage, free_port
from tests.stream.builders import a_message, named, settings
from tests.stream.damaged_logs import ROWS
from tests.stream.kafka_site import Site


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a broker for this folder."""
    folder = tmp_path_factory.mktemp("stream") / "broker"
    format_storage(folder)
    with Broker(folder, port=free_port(), controller_port=free_port()) as running:
        yield running.address


@pytest.fixture
def site(broker: str, tmp_path: Path) -> Iterator[Site]:
    """A worker that can be started, without topics so far."""
    site = Site(broker, tmp_path)
    yield site
    if site.process and site.process.poll() is None:
        site.process.kill()
        site.process.wait()


@pytest.fixture(scope="module")
def versions_of_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose table `events` has ROWS versions of one row each, after version 0."""
    folder = tmp_path_factory.mktemp("versions_of_events")
    writer = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    for offset in range(ROWS):
        writer.write([a_message(offset, named(f"n{offset}"))])
    return folder


@pytest.fixture
def lake_settings(versions_of_events: Path, tmp_path: Path) -> Settings:
    shutil.copytree(versions_of_events, tmp_path / "data")
    return settings(tmp_path / "data", small_parts=2)


@pytest.fixture
def delta_log(lake_settings: Settings) -> Path:
    return Path(lake_settings.lake_url) / "events" / LOG_FOLDER
