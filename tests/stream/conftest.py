"""A lake whose table of events has several versions, and the log of that table."""

import shutil
from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_log import (
    LOG_FOLDER,
)
from schemas.runtime.settings import Settings
from stream.enrich.rules.lookups import Lookups
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, named, settings
from tests.stream.damaged_logs import ROWS


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
