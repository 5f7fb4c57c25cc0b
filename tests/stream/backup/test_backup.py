"""Backups of a lake: what they hold, what is copied again, what `verify` and `prune` find."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.registry_startup import prepare_registry
from schemas.registry import RegistryStore
from schemas.registry.backups import read_backup
from schemas.registry.validation import new_organization
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.backup import lake_backup
from stream.backup.file_store import FileStore, LocalFiles, file_store
from stream.backup.kept_backups import (
    BackupProblem,
    NothingPruned,
    list_backups,
    prune,
    verify_backups,
)
from stream.backup.lake_backup import BackupFailed, BackupResult, Pace, take_backup
from stream.backup.manifest import Manifest, backup_ids, newest_manifest, read_manifest
from stream.backup.pinned_tables import PinnedTable, pin_tables
from tests.query.lake import Lake, a_vital, an_event
from tests.s3.server import S3Server

DAY_SECONDS = 86_400


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data_dir=str(tmp_path / "data"), limits_url="redis://:secret@limits:6379")
    settings.data.mkdir()
    prepare_registry(settings, create_new=True)
    store = RegistryStore(settings.registry_url)
    store.create(new_organization("Acme", "pro", 0))
    store.close()
    return settings


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return Lake(settings.data / "lake")


@pytest.fixture
def target(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "target")


def back_up(settings: Settings, target: FileStore) -> BackupResult:
    return take_backup(settings, target)


def contents(manifest: Manifest) -> dict[str, int]:
    return {table.name: table.rows for table in manifest.tables}


def test_a_backup_has_every_table_at_one_version_and_the_registry(
    settings: Settings, lake: Lake, target: LocalFiles, tmp_path: Path
) -> None:
    lake.holds(an_event(), an_event(received="2026-11-11T12:00:00Z"), a_vital("LCP", 1200))

    result = back_up(settings, target)

    manifest = read_manifest(target, result.manifest.id)
    assert contents(manifest) == {"events": 2, "vitals": 1}
    assert [len(table.data_files) for table in manifest.tables] == [2, 1]
    assert (result.copied_files, result.files) == (9, 9)  # 3 data files, 5 log entries, registry
    assert manifest.settings["TIDEMARK_LIMITS_URL"] == "redis://:***@limits:6379"
    assert manifest.registry
    registry = read_backup(tmp_path / "target" / manifest.registry.stored_path)
    assert [organization.name for organization in registry.contents.organizations] == ["Acme"]
    assert (tmp_path / "target" / manifest.registry.stored_path).stat().st_mode & 0o077 == 0
    assert list(verify_backups(target, [manifest.id])) == []


def test_only_new_files_are_copied(settings: Settings, lake: Lake, target: LocalFiles) -> None:
    lake.holds(an_event())
    first = back_up(settings, target)

    lake.holds(an_event(), an_event())
    second = back_up(settings, target)

    assert first.manifest.id < second.manifest.id
    assert contents(second.manifest) == {"events": 3}
    # A data file and a log entry; the registry has another time of backup.
    assert second.copied_files == 3
    assert [summary.rows for summary in list_backups(target)] == [3, 1]


def test_a_file_that_vacuum_deletes_meanwhile_makes_it_pin_again(
    settings: Settings, lake: Lake, target: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.holds(an_event(), a_vital("LCP", 1200))
    [replaced] = lake.paths(EVENTS)
    rounds: list[list[PinnedTable]] = []

    def pin_then_compact(settings: Settings) -> list[PinnedTable]:
        pinned = pin_tables(settings)
        if not rounds:
            lake.holds(an_event(), an_event())
            lake.removes(EVENTS, replaced)
            replaced.unlink()
        rounds.append(pinned)
        return pinned

    monkeypatch.setattr(lake_backup, "pin_tables", pin_then_compact)

    result = back_up(settings, target)

    assert len(rounds) == 2
    assert contents(result.manifest) == {"events": 2, "vitals": 1}
    assert result.manifest.problems == []
    assert list(verify_backups(target, backup_ids(target))) == []


def test_a_damaged_and_a_missing_file_of_the_lake_are_named(
    settings: Settings, lake: Lake, target: LocalFiles
) -> None:
    lake.holds(an_event(), an_event(received="2026-11-11T12:00:00Z"))
    lake.holds(an_event(received="2026-11-12T12:00:00Z"))
    intact, flipped, gone = sorted(lake.paths(EVENTS))
    data = bytearray(flipped.read_bytes())
    data[len(data) // 2] ^= 1
    flipped.write_bytes(data)
    gone.unlink()

    result = back_up(settings, target)

    assert {file.path.rpartition("/")[2]: file.problem for file in result.manifest.problems} == {
        flipped.name: "had a wrong checksum",
        gone.name: "was missing in the lake",
    }
    assert intact.name not in str(result.manifest.problems)
    assert [summary.problem for summary in list_backups(target)] == [
        "2 data files were damaged in the lake"
    ]
    assert [problem.path for problem in verify_backups(target, backup_ids(target))] == [
        file.path for file in result.manifest.problems
    ]


def test_a_file_that_is_damaged_later_is_taken_from_the_earlier_backup(
    settings: Settings, lake: Lake, target: LocalFiles
) -> None:
    lake.holds(an_event())
    back_up(settings, target)
    [file] = lake.paths(EVENTS)
    file.write_bytes(b"PAR1" + bytes(file.stat().st_size - 8) + b"PAR1")

    result = back_up(settings, target)

    assert result.manifest.problems == []
    assert list(verify_backups(target, backup_ids(target))) == []


def test_a_backup_that_was_killed_does_not_exist_and_its_files_are_used(
    settings: Settings, lake: Lake, target: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.holds(an_event())

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lake_backup, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            back_up(settings, target)

    assert newest_manifest(target) is None
    assert back_up(settings, target).copied_files == 1  # the registry, with another time


def test_an_old_file_that_no_backup_names_is_copied_again(
    settings: Settings, lake: Lake, target: LocalFiles, tmp_path: Path
) -> None:
    lake.holds(an_event())
    result = back_up(settings, target)
    [table] = result.manifest.tables
    stored = tmp_path / "target" / table.data_files[0].stored_path
    (tmp_path / "target" / "backups" / f"{result.manifest.id}.json").unlink()
    stored.write_bytes(bytes(stored.stat().st_size))
    make_older(stored, 2)

    back_up(settings, target)

    assert list(verify_backups(target, backup_ids(target))) == []


def test_verify_names_what_is_damaged_and_what_is_missing(
    settings: Settings, lake: Lake, target: LocalFiles, tmp_path: Path
) -> None:
    lake.holds(an_event(), a_vital("LCP", 1200))
    identifier = back_up(settings, target).manifest.id
    events, vitals = read_manifest(target, identifier).tables
    damaged, missing = events.data_files[0].stored_path, vitals.log[1].stored_path
    content = (tmp_path / "target" / damaged).read_bytes()
    (tmp_path / "target" / damaged).write_bytes(content[:-1] + b"x")
    (tmp_path / "target" / missing).unlink()

    assert list(verify_backups(target, [identifier])) == [
        BackupProblem(identifier, damaged, "has a wrong checksum"),
        BackupProblem(identifier, missing, "is missing"),
    ]


def test_a_changed_manifest_is_damaged(
    settings: Settings, lake: Lake, target: LocalFiles, tmp_path: Path
) -> None:
    lake.holds(an_event())
    identifier = back_up(settings, target).manifest.id
    path = tmp_path / "target" / "backups" / f"{identifier}.json"
    path.write_bytes(path.read_bytes().replace(b'"rows":1', b'"rows":2'))

    [summary] = list_backups(target)

    assert summary.problem == f"backups/{identifier}.json has a wrong checksum"
    with pytest.raises(NothingPruned, match=f"backup {identifier} is damaged"):
        prune(target, 0, 1)


def test_prune_removes_old_backups_and_then_the_files_that_only_they_name(
    settings: Settings, lake: Lake, target: LocalFiles, tmp_path: Path
) -> None:
    lake.holds(an_event())
    [replaced] = lake.paths(EVENTS)
    old = back_up(settings, target).manifest
    lake.holds(an_event(), an_event())
    lake.removes(EVENTS, replaced)
    kept = back_up(settings, target).manifest
    only_old = {file.stored_path for file in old.files()} - {f.stored_path for f in kept.files()}
    assert len(only_old) == 2  # a data file and the registry: log entries are of both

    assert prune(target, 1, 1).backups == []
    pruned = prune(target, 0, 1)
    assert (pruned.backups, pruned.files) == ([old.id], 0)  # too young: a backup may run
    for path in only_old:
        make_older(tmp_path / "target" / path, 4)
    assert prune(target, 0, 1, is_dry_run=True).files == 2
    assert prune(target, 0, 1).files == 2

    assert backup_ids(target) == [kept.id]
    assert list(verify_backups(target, [kept.id])) == []
    assert not any((tmp_path / "target" / path).exists() for path in only_old)


def test_the_newest_backup_stays_at_any_age(
    settings: Settings, lake: Lake, target: LocalFiles
) -> None:
    lake.holds(an_event())
    identifier = back_up(settings, target).manifest.id

    assert prune(target, 0, 0).backups == []
    assert backup_ids(target) == [identifier]


def test_a_folder_of_tables_is_no_target(settings: Settings, lake: Lake) -> None:
    lake.holds(an_event())

    with pytest.raises(BackupFailed, match="the target has tables itself"):
        back_up(settings, LocalFiles(settings.data / "lake"))


def test_an_installation_that_was_never_started_has_nothing_to_back_up(
    tmp_path: Path, target: LocalFiles
) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"))
    settings.data.mkdir()
    prepare_registry(settings, create_new=True)

    with pytest.raises(BackupFailed, match="there is nothing to back up"):
        back_up(settings, target)
    assert backup_ids(target) == []


def test_the_rate_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + sum(waited))
    monkeypatch.setattr(time, "sleep", waited.append)
    pace = Pace(2)

    for _ in range(3):
        pace(4_194_304)

    assert waited == [2.0, 2.0, 2.0]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


def test_an_object_store_is_a_target(
    settings: Settings, lake: Lake, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    target = file_store(server.url.replace("tables", "backups"))
    lake.holds(an_event(), a_vital("LCP", 1200))

    first, second = back_up(settings, target), back_up(settings, target)

    assert backup_ids(target) == [second.manifest.id, first.manifest.id]
    assert second.copied_files == 1
    assert list(verify_backups(target, backup_ids(target))) == []
    assert prune(target, 0, 1).backups == [first.manifest.id]


def make_older(path: Path, days: int) -> None:
    at = time.time() - days * DAY_SECONDS
    os.utime(path, (at, at))
