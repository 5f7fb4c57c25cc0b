"""Scheduled backups: when they are due, what they report, and that a failure is tried again."""

import shutil
import threading
from pathlib import Path

import pytest

from deploy.local.registry_startup import prepare_registry
from deploy.local.status import BACKUP_GRACE_MS, system_status
from schemas.runtime.backup_state import BackupState, read_backup_state, write_backup_state
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import BACKUP_DUE, LAST_BACKUP
from stream.backup.file_store import LocalFiles
from stream.backup.manifest import backup_ids, read_manifest
from stream.maintenance import scheduled_backup
from stream.maintenance.scheduled_backup import HOUR_MS, run_scheduled_backups
from tests.query.lake import Lake, an_event

AT_MS = 1_795_262_400_000
"""2026-11-21 12:00:00 UTC."""


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    config = Settings(
        data_dir=str(tmp_path / "data"), backup_target=str(tmp_path / "target"), backup_hours=2
    )
    config.data.mkdir()
    prepare_registry(config, create_new=True)
    Lake(config.data / "lake").holds(an_event())
    return config


class Stops(threading.Event):
    """Stopped after so many rounds; remembers how long each would have paused."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds, self.pauses = rounds, list[float]()

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0)
        return len(self.pauses) >= self.rounds


def run_at(config: Settings, monkeypatch: pytest.MonkeyPatch, at_ms: int, rounds: int = 1) -> Stops:
    with monkeypatch.context() as patched:
        for module in ("stream.backup.lake_backup", "stream.maintenance.scheduled_backup"):
            patched.setattr(f"{module}.now_ms", lambda: at_ms)
        stop = Stops(rounds)
        run_scheduled_backups(config, stop)
    return stop


def test_the_next_backup_is_due_after_the_interval_also_for_a_new_keeper(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = LocalFiles(Path(config.backup_target))

    run_at(config, monkeypatch, AT_MS, rounds=3)
    run_at(config, monkeypatch, AT_MS + 2 * HOUR_MS - 1)
    assert backup_ids(target) == ["20261121T120000Z"]
    assert LAST_BACKUP._value.get() == AT_MS / 1000
    assert BACKUP_DUE._value.get() == AT_MS / 1000 + 7_200

    run_at(config, monkeypatch, AT_MS + 2 * HOUR_MS)
    assert backup_ids(target) == ["20261121T140000Z", "20261121T120000Z"]
    assert read_backup_state(config.data) == BackupState(
        config.backup_target, AT_MS + 2 * HOUR_MS, AT_MS + 4 * HOUR_MS
    )


def test_backups_older_than_the_days_to_keep_are_removed_but_three(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = (0, 10, 20, 31)
    for day in days:
        run_at(config, monkeypatch, AT_MS + day * 24 * HOUR_MS)
        monkeypatch.setattr("stream.backup.kept_backups.now_ms", lambda: AT_MS + 32 * 24 * HOUR_MS)

    target = LocalFiles(Path(config.backup_target))
    assert [read_manifest(target, identifier).taken_ms for identifier in backup_ids(target)] == [
        AT_MS + day * 24 * HOUR_MS for day in (31, 20, 10)
    ]


def test_a_target_that_cannot_be_written_is_reported_and_tried_again(
    config: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Path(config.backup_target).write_text("a file")

    stop = run_at(config, monkeypatch, AT_MS, rounds=2)

    assert stop.pauses == [scheduled_backup.RETRY_SECONDS] * 2
    assert [record.message for record in caplog.records if record.name.endswith("_backup")] == [
        "backup failed"
    ] * 2
    state = read_backup_state(config.data)
    assert state is not None
    assert (state.last_ms, state.due_ms) == (0, AT_MS)
    assert "Not a directory" in state.problem
    problem = f"the last backup to {config.backup_target} was never written: {state.problem}"
    assert problem in system_status(config).problems


def test_status_says_when_the_last_backup_was_taken_and_when_it_is_late(config: Settings) -> None:
    at_ms = now_ms()
    state = BackupState(config.backup_target, at_ms - 9 * HOUR_MS, at_ms - BACKUP_GRACE_MS + 60_000)

    write_backup_state(config.data, state)
    in_time = system_status(config)
    write_backup_state(config.data, BackupState(state.target, AT_MS, AT_MS + HOUR_MS))
    late = system_status(config)

    assert not [problem for problem in in_time.problems if "backup" in problem]
    assert late.last_backup_at == "2026-11-21T12:00:00.000Z"
    assert (
        f"the last backup to {state.target} is of 2026-11-21T12:00:00.000Z: the next was due at "
        "2026-11-21T13:00:00.000Z" in late.problems
    )


def test_a_first_start_has_nothing_to_back_up_and_no_problem(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(config.data / "lake")

    stop = run_at(config, monkeypatch, AT_MS)

    assert stop.pauses == [scheduled_backup.POLL_SECONDS]
    assert read_backup_state(config.data) == BackupState(config.backup_target, 0, AT_MS)


def test_without_a_target_there_is_no_schedule(tmp_path: Path) -> None:
    config = Settings(data_dir=str(tmp_path))

    run_scheduled_backups(config, threading.Event())  # returns at once

    assert read_backup_state(tmp_path) is None
