"""A log entry is missing, empty or torn: no row is lost silently, and only its table waits."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from schemas.lake.delta_log import (
    COPIES_FOLDER,
    LAST_CHECKPOINT_FILE,
    DamagedEntry,
    checkpoint_name,
    damaged_entries,
    entry_name,
    entry_problem,
    last_checkpoint,
    log_entries,
)
from schemas.lake.delta_table import DamagedLog, open_table
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.maintenance.log_copies import copy_log
from stream.maintenance.scheduler import MaintenanceScheduler
from stream.maintenance.vacuum import checkpoint
from stream.recovery.diagnosis import check_logs, repair_finding
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import repair_log, repair_logs, restore_entry
from tests.stream.builders import rows, version
from tests.stream.damaged_logs import DAMAGES, ROWS, Damage, store


def test_deltalake_alone_would_lose_the_rows_of_an_empty_entry(
    lake_settings: Settings, delta_log: Path
) -> None:
    DAMAGES["empty"](delta_log / entry_name(3))

    assert DeltaTable(str(delta_log.parent)).version() == ROWS
    with pytest.raises(DamagedLog, match=r"0003\.json is empty"):
        open_table(lake_settings.lake_url, EVENTS)


@pytest.mark.parametrize(
    ("version", "damage"),
    [*((0, name) for name in ("missing", "empty", "torn")), *((3, name) for name in DAMAGES)],
)
def test_a_damaged_first_or_middle_entry_is_never_opened(
    lake_settings: Settings, delta_log: Path, version: int, damage: str
) -> None:
    DAMAGES[damage](delta_log / entry_name(version))

    left = repair_logs(lake_settings)

    assert [damaged.version for damaged in left["events"]] == [version]
    with pytest.raises(DamagedLog, match=entry_name(version)):
        open_table(lake_settings.lake_url, EVENTS)
    with pytest.raises(DamagedLog, match=entry_name(version)):
        LakeTable(lake_settings, EVENTS)


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "missing"])
def test_a_damaged_newest_entry_is_moved_aside_and_its_batch_stored_again(
    lake_settings: Settings, delta_log: Path, damage: str
) -> None:
    newest = delta_log / entry_name(ROWS)
    newest.write_bytes(newest.read_bytes().replace(b'"version":5', b'"version":3'))
    DAMAGES[damage](newest)

    left = repair_logs(lake_settings)
    store(lake_settings, ROWS - 1)

    assert left == {}
    assert (delta_log / f"_torn-{newest.name}").exists()
    assert rows(lake_settings, EVENTS, "name") == [(f"n{i}",) for i in range(ROWS)]


@pytest.mark.parametrize("version", [3, ROWS])
def test_an_entry_deleted_while_everything_runs_is_detected_and_restored(
    lake_settings: Settings, delta_log: Path, version: int
) -> None:
    keeper = MaintenanceScheduler(lake_settings)
    keeper.run_cycle()
    (delta_log / entry_name(version)).unlink()

    with pytest.raises(DamagedLog, match=f"{entry_name(version)} is missing"):
        open_table(lake_settings.lake_url, EVENTS)
    keeper.run_cycle()
    assert damaged_entries(delta_log) == []
    assert len(rows(lake_settings, EVENTS, "name")) == ROWS


@pytest.mark.parametrize("when", ["at a start", "while it runs", "by the doctor"])
@pytest.mark.parametrize("checkpoints", [0, 1, 2])
def test_a_log_deleted_as_a_whole_is_detected_and_restored(
    lake_settings: Settings, delta_log: Path, checkpoints: int, when: str
) -> None:
    keeper = MaintenanceScheduler(lake_settings)
    keeper.run_cycle()
    for number in range(checkpoints):
        checkpoint(LakeTable(lake_settings, EVENTS))
        store(lake_settings, ROWS + number)
        copy_log(LakeTable(lake_settings, EVENTS), lake_settings)
    shutil.rmtree(delta_log)

    with pytest.raises(DamagedLog, match="is missing"):
        open_table(lake_settings.lake_url, EVENTS)
    with pytest.raises(DamagedLog):  # and no table is created in its place
        LakeTable(lake_settings, EVENTS)

    if when == "at a start":
        assert repair_logs(lake_settings) == {}
    elif when == "while it runs":
        keeper.run_cycle()
    else:
        first, *_ = list(check_logs(lake_settings))
        assert repair_finding(lake_settings, first) is not None
        assert list(check_logs(lake_settings)) == []
    assert len(rows(lake_settings, EVENTS, "name")) == ROWS + checkpoints


def test_a_log_deleted_without_a_copy_is_never_recreated(
    lake_settings: Settings, delta_log: Path
) -> None:
    table = LakeTable(lake_settings, EVENTS)
    checkpoint(table)
    store(lake_settings, ROWS)
    copy_log(table, lake_settings)
    shutil.rmtree(delta_log)
    (delta_log.parent / COPIES_FOLDER / CHECKPOINT).unlink()
    (delta_log.parent / COPIES_FOLDER / entry_name(0)).unlink()

    assert repair_logs(lake_settings)["events"][0].version == 0
    with pytest.raises(DamagedLog):
        LakeTable(lake_settings, EVENTS)


def test_a_commit_that_took_the_place_of_a_deleted_entry_stays(
    lake_settings: Settings, delta_log: Path
) -> None:
    copy_log(LakeTable(lake_settings, EVENTS), lake_settings)
    newest = delta_log / entry_name(ROWS)
    own = (delta_log / entry_name(ROWS - 1)).read_bytes()
    newest.write_bytes(own)

    assert not restore_entry(delta_log, DamagedEntry(ROWS, "is missing"))
    assert newest.read_bytes() == own


def test_damage_that_a_checkpoint_covers_is_no_damage(
    lake_settings: Settings, delta_log: Path
) -> None:
    checkpoint(LakeTable(lake_settings, EVENTS))
    (delta_log / entry_name(2)).write_bytes(b"")

    assert damaged_entries(delta_log) == []
    assert len(version(lake_settings, EVENTS).data_files) == ROWS


CHECKPOINT = checkpoint_name(ROWS)


DAMAGES_OF_CHECKPOINTS: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-50]),
    "flipped": lambda file: file.write_bytes(file.read_bytes().replace(b"day=", b"dax=", 1)),
}


@pytest.mark.parametrize("damage", DAMAGES_OF_CHECKPOINTS)
def test_a_damaged_checkpoint_is_restored_or_the_one_before_it_is_used(
    lake_settings: Settings, delta_log: Path, damage: str
) -> None:
    table, copies = LakeTable(lake_settings, EVENTS), delta_log.parent / COPIES_FOLDER
    checkpoint(table)
    copy_log(table, lake_settings)
    store(lake_settings, ROWS)
    checkpoint(table)
    copy_log(table, lake_settings)
    store(lake_settings, ROWS + 1)
    for entry in log_entries(delta_log).values():  # as they are cleaned up after an hour
        if int(entry.stem) <= ROWS + 1:
            entry.unlink()
    whole = (delta_log / checkpoint_name(ROWS + 1)).read_bytes()

    def damage_and_repair(*files: Path) -> list[Path]:
        for file in files:
            DAMAGES_OF_CHECKPOINTS[damage](file)
        with pytest.raises(DamagedLog, match=checkpoint_name(ROWS + 1)):
            open_table(lake_settings.lake_url, EVENTS)
        restored = repair_log(delta_log)
        assert repair_logs(lake_settings) == {}
        assert len(rows(lake_settings, EVENTS, "name")) == ROWS + 2
        return restored

    newest = delta_log / checkpoint_name(ROWS + 1)
    assert damage_and_repair(newest) == [newest]
    assert newest.read_bytes() == whole
    damage_and_repair(newest, copies / newest.name)
    assert not newest.exists()
    assert last_checkpoint(delta_log) == ROWS


def test_a_damaged_note_of_the_last_checkpoint_closes_no_table(
    lake_settings: Settings, delta_log: Path
) -> None:
    table, note = LakeTable(lake_settings, EVENTS), delta_log / LAST_CHECKPOINT_FILE
    checkpoint(table)
    copy_log(table, lake_settings)
    whole = note.read_bytes()

    too_old = whole.replace(b'"version":5', b'"version":1')
    wrong_size = whole.replace(b'"sizeInBytes":', b'"sizeInBytes":9')
    for damaged in (b"", whole[:9], b"[]", b"\xff", too_old, wrong_size):
        note.write_bytes(damaged)
        assert len(version(lake_settings, EVENTS).data_files) == ROWS
    note.write_bytes(whole.replace(b'"version":5', b'"version":7'))
    assert [entry.problem for entry in damaged_entries(delta_log)] == [
        "names version 7, which there never was"
    ]
    copy_log(table, lake_settings)
    assert len(version(lake_settings, EVENTS).data_files) == ROWS


@pytest.mark.parametrize("damage", DAMAGES_OF_CHECKPOINTS)
def test_a_checkpoint_without_a_copy_is_moved_aside_while_the_entries_are_complete(
    lake_settings: Settings, delta_log: Path, damage: str
) -> None:
    table = LakeTable(lake_settings, EVENTS)
    checkpoint(table)
    copy_log(table, lake_settings)
    (delta_log.parent / COPIES_FOLDER / CHECKPOINT).unlink()
    store(lake_settings, ROWS)
    DAMAGES_OF_CHECKPOINTS[damage](delta_log / CHECKPOINT)
    with pytest.raises(DamagedLog, match=CHECKPOINT):
        open_table(lake_settings.lake_url, EVENTS)

    assert repair_logs(lake_settings) == {}
    assert len(rows(lake_settings, EVENTS, "name")) == ROWS + 1


def test_a_damaged_checkpoint_without_its_entries_is_reported(
    lake_settings: Settings, delta_log: Path
) -> None:
    checkpoint(LakeTable(lake_settings, EVENTS))
    (delta_log / entry_name(1)).unlink()
    (delta_log / CHECKPOINT).write_bytes(b"")

    assert [damaged.name for damaged in repair_logs(lake_settings)["events"]] == [CHECKPOINT]
    assert (delta_log / CHECKPOINT).exists()


def test_a_flipped_bit_in_a_log_entry_is_detected(delta_log: Path) -> None:
    entry = (delta_log / entry_name(1)).read_bytes()
    fields = (b'"path":"day=', b'"size":1', b"numRecords", b'"appId":"1/', b'"version":1')
    assert entry_problem(entry) is None

    for field in fields:
        for bit in range(8):
            flipped = bytearray(entry)
            flipped[entry.index(field) + len(field) - 1] ^= 1 << bit

            assert entry_problem(bytes(flipped)) is not None, field


def test_a_commit_records_a_checksum_of_its_content(delta_log: Path) -> None:
    assert "adds=1 removes=0 txns=1 sha256=" in (delta_log / entry_name(1)).read_text()


def test_entries_of_older_releases_without_a_checksum_are_accepted(delta_log: Path) -> None:
    info, *rest = (delta_log / entry_name(1)).read_bytes().splitlines(keepends=True)
    old = info[: info.index(b',"tidemark"')] + b"}}\n"

    assert entry_problem(old + b"".join(rest)) is None
    assert entry_problem(old) is None
