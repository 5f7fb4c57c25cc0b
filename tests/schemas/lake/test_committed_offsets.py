"""Committed offsets are read from the newest log entries."""

import json
from pathlib import Path

import pytest

from schemas.lake import committed_offsets
from schemas.lake.committed_offsets import (
    NO_VERSION,
    LocalLog,
    LogFollower,
    app_id,
    log_folder,
    newest_names,
)
from schemas.lake.delta_log import checkpoint_name, entry_name
from schemas.tables import EVENTS

NAME = app_id(1, "events", 0)


def commit(folder: Path, number: int, next_offset: int, name: str = NAME) -> Path:
    entry = folder / f"{number:020}.json"
    moved = {"txn": {"appId": name, "version": next_offset, "lastUpdated": 1}}
    entry.write_text(f"{json.dumps({'commitInfo': {}})}\n{json.dumps(moved)}")
    return entry


def test_commits_after_the_first_poll_are_read(tmp_path: Path) -> None:
    commit(tmp_path, 7, 100)
    log = LogFollower(LocalLog(tmp_path))

    assert (log.poll(), log.version, log.next_offset(NAME)) == (False, 7, None)
    commit(tmp_path, 8, 110)
    commit(tmp_path, 9, 5, app_id(1, "vitals", 0))
    assert (log.poll(), log.version, log.next_offset(NAME)) == (True, 9, 110)
    assert [log.contains(NAME, offset) for offset in (109, 110)] == [True, False]


def test_a_table_that_does_not_exist_yet_is_followed_from_its_first_entry(tmp_path: Path) -> None:
    log = LogFollower(LocalLog(tmp_path / "_delta_log"))
    log.poll()
    assert log.version == NO_VERSION

    (tmp_path / "_delta_log").mkdir()
    commit(tmp_path / "_delta_log", 0, 3)
    assert (log.poll(), log.version, log.next_offset(NAME)) == (True, 0, 3)


def test_a_torn_entry_is_ignored_until_it_is_complete(tmp_path: Path) -> None:
    log = LogFollower(LocalLog(tmp_path))
    log.poll()
    entry = commit(tmp_path, 0, 3)
    whole = entry.read_text()
    entry.write_text(whole[:-9])

    log.poll()
    assert (log.version, log.contains(NAME, 2)) == (NO_VERSION, False)
    entry.write_text(whole)
    log.poll()
    assert (log.version, log.contains(NAME, 2)) == (0, True)


def test_a_follower_that_paused_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogFollower(LocalLog(tmp_path))
    log.poll()
    commit(tmp_path, 0, 3)
    log.poll()
    (tmp_path / f"{0:020}.json").unlink()  # cleaned up
    commit(tmp_path, 5, 8)

    assert (log.poll(), log.version) == (True, 0)  # it cannot know yet
    monkeypatch.setattr(committed_offsets, "FOLLOW_TIMEOUT_SECONDS", 0.0)
    assert (log.poll(), log.version, log.next_offset(NAME)) == (False, 5, None)


def test_only_a_lake_on_a_disk_has_a_log_to_follow() -> None:
    assert log_folder("s3://bucket/lake", EVENTS) is None
    assert log_folder("/data/lake/", EVENTS) == Path("/data/lake/events/_delta_log")
    assert log_folder("file:///data/lake", EVENTS) == Path("/data/lake/events/_delta_log")


def test_names_are_listed_from_the_newest_checkpoint_on(tmp_path: Path) -> None:
    log = LocalLog(tmp_path)
    for version in range(12):
        (tmp_path / entry_name(version)).write_text("{}")
    every = sorted(entry_name(version) for version in range(12))
    assert sorted(newest_names(log)) == every

    (tmp_path / checkpoint_name(10)).write_text("")
    (tmp_path / "_last_checkpoint").write_text('{"version": 10, "size": 3}')
    assert sorted(newest_names(log)) == [checkpoint_name(10), entry_name(10), entry_name(11)]

    (tmp_path / "_last_checkpoint").write_text("torn")
    assert sorted(newest_names(log)) == sorted([checkpoint_name(10), *every])
