"""Replaced data files stay for as long as a reader may need them, by where the lake is."""

from pathlib import Path
from typing import Any

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_table import open_table
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.maintenance.vacuum import VacuumTask
from stream.storage.delta_commit import LakeTable
from stream.storage.table_reader import TableReader
from stream.writing.batch_writer import BatchWriter
from tests.s3.server import S3Server
from tests.stream.builders import a_message, named, rows, settings

HOUR_MS = 3_600_000
FILES = 4


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with S3Server(tmp_path / "s3") as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield f"{server.url}/tables"


def replaced_before(
    config: Settings, age_ms: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[LakeTable, int]:
    """A table whose data files were merged so long ago, and its version before that."""
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    for number in range(FILES):
        writer.write([a_message(number, named(f"e{number}"))])
    table = LakeTable(config, EVENTS)
    before = table.handle.version()
    monkeypatch.setattr("stream.storage.delta_commit.now_ms", lambda: now_ms() - age_ms)
    compact(table, config)
    table.refresh()
    assert len(table.handle.file_uris()) == 1
    return table, before


def vacuum(table: LakeTable, config: Settings) -> None:
    """As the keeper does when it starts, and when the interval is over."""
    task = VacuumTask()
    task(table, config)
    task._vacuums[EVENTS.name] = -1e9
    task(table, config)


def is_readable(config: Settings, version: int) -> bool:
    """Whether a reader of a version still finds its files."""
    handle = open_table(config.lake_url, EVENTS)
    assert handle is not None
    handle.load_as_version(version)
    try:
        return len(handle.to_pyarrow_table(columns=["name"])) == FILES
    except OSError:
        return False


@pytest.mark.parametrize(
    ("minutes", "hours_ago", "readable"), [(0, 23, True), (0, 25, False), (60, 2, False)]
)
def test_in_an_object_store_a_version_is_readable_for_a_day(
    tmp_path: Path,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    minutes: int,
    hours_ago: int,
    readable: bool,
) -> None:
    config = settings(tmp_path, lake=bucket, small_parts=2, tombstone_minutes=minutes)
    table, before = replaced_before(config, hours_ago * HOUR_MS, monkeypatch)

    vacuum(table, config)

    assert is_readable(config, before) is readable
    events = TableReader.open(config, EVENTS)
    assert events is not None
    assert sum(batch.num_rows for batch in events.batches(["name"])) == FILES


@pytest.mark.parametrize(("minutes", "readable"), [(14, True), (16, False)])
def test_on_a_disk_a_version_is_readable_for_a_quarter_of_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int, readable: bool
) -> None:
    config = settings(tmp_path, small_parts=2)
    table, before = replaced_before(config, minutes * 60_000, monkeypatch)

    vacuum(table, config)

    assert is_readable(config, before) is readable


def test_files_of_more_than_a_day_of_retention_survive_the_daily_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deletes files that no version contains after a day."""
    config = settings(tmp_path, small_parts=2, tombstone_minutes=3 * 24 * 60)
    table, before = replaced_before(config, 50 * HOUR_MS, monkeypatch)

    vacuum(table, config)

    assert is_readable(config, before)


def test_a_table_gets_the_retention_of_the_settings_while_it_is_written(tmp_path: Path) -> None:
    """As after an upgrade, or when a setting was changed."""
    before = settings(tmp_path, tombstone_minutes=15, log_minutes=60)
    writer = BatchWriter(before, CUSTOM_EVENT, Lookups())
    writer.write([a_message(0, named("a"))])
    after = settings(tmp_path, tombstone_minutes=1440, log_minutes=10080)
    table = LakeTable(after, EVENTS)

    VacuumTask()(table, after)
    writer.write([a_message(1, named("b"))])
    version = table.handle.version()
    VacuumTask()(table, after)

    configuration = LakeTable(after, EVENTS).handle.metadata().configuration
    assert configuration["delta.deletedFileRetentionDuration"] == "interval 1440 minutes"
    assert configuration["delta.logRetentionDuration"] == "interval 10080 minutes"
    assert rows(after, EVENTS, "name") == [("a",), ("b",)]
    assert table.handle.version() == version + 1, "nothing is changed twice"
