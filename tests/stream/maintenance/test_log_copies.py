"""Copies of log entries: made, used for repair, removed."""

from pathlib import Path

import pytest

from schemas.lake.delta_log import (
    COPIES_FOLDER,
    checkpoint_checksum_path,
    checkpoint_name,
    damaged_entries,
    entry_name,
)
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.maintenance.log_copies import copy_log
from stream.maintenance.vacuum import checkpoint
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import repair_logs
from tests.accidents import flip
from tests.stream.builders import rows
from tests.stream.damaged_logs import DAMAGES, ROWS, store


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_restored_from_the_keepers_copy(
    lake_settings: Settings, delta_log: Path, damage: str
) -> None:
    copy_log(LakeTable(lake_settings, EVENTS), lake_settings)
    DAMAGES[damage](delta_log / entry_name(3))

    assert repair_logs(lake_settings) == {}
    assert len(rows(lake_settings, EVENTS, "name")) == ROWS
    assert LakeTable(lake_settings, EVENTS).next_offset("1/events/0") == ROWS


def test_the_copy_of_a_commit_that_a_power_cut_undid_is_never_restored(
    lake_settings: Settings, delta_log: Path
) -> None:
    copy_log(LakeTable(lake_settings, EVENTS), lake_settings)
    (delta_log / entry_name(ROWS)).unlink()  # its name never reached the disk

    repair_logs(lake_settings)
    store(lake_settings, ROWS - 1, ROWS)
    (delta_log / entry_name(ROWS)).write_bytes(b"")

    assert [damaged.version for damaged in repair_logs(lake_settings)["events"]] == [ROWS]


def test_copies_go_back_to_the_last_checkpoint_but_one(
    lake_settings: Settings, delta_log: Path
) -> None:
    table, copies = LakeTable(lake_settings, EVENTS), delta_log.parent / COPIES_FOLDER

    def copied() -> list[str]:
        copy_log(table, lake_settings)
        return sorted(file.name for file in copies.iterdir())

    def checkpoint_and_checksum(version: int) -> list[str]:
        return [checkpoint_name(version), checkpoint_checksum_path(delta_log, version).name]

    entries = [entry_name(number) for number in range(ROWS + 3)]
    copied()
    checkpoint(table)
    assert copied() == sorted([*entries[: ROWS + 1], *checkpoint_and_checksum(ROWS)])
    store(lake_settings, ROWS)
    checkpoint(table)
    of_both = [*checkpoint_and_checksum(ROWS), *checkpoint_and_checksum(ROWS + 1)]
    assert copied() == sorted([entries[ROWS + 1], *of_both])
    store(lake_settings, ROWS + 1)
    checkpoint(table)
    of_both = [*checkpoint_and_checksum(ROWS + 1), *checkpoint_and_checksum(ROWS + 2)]
    assert copied() == sorted([entries[ROWS + 2], *of_both])


def test_a_damaged_checkpoint_is_not_copied(lake_settings: Settings, delta_log: Path) -> None:
    table = LakeTable(lake_settings, EVENTS)
    checkpoint(table)
    copy_log(table, lake_settings)
    copy = delta_log.parent / COPIES_FOLDER / checkpoint_name(ROWS)
    copy.unlink()
    flip(delta_log / copy.name)

    copy_log(table, lake_settings)

    assert not copy.exists()
    assert [entry.problem for entry in damaged_entries(delta_log)] == ["has a wrong checksum"]
