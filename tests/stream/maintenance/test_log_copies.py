"""Copies of log entries: made, used for repair, removed."""

from pathlib import Path

import pytest

from schemas.lake.delta_log import (
    COPIES_FOLDER,
    entry_name,
)
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.maintenance.log_copies import copy_log
from stream.maintenance.vacuum import checkpoint
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import repair_logs
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


def test_copies_are_removed_when_a_checkpoint_covers_them(
    lake_settings: Settings, delta_log: Path
) -> None:
    table = LakeTable(lake_settings, EVENTS)
    copy_log(table, lake_settings)
    checkpoint(table)
    store(lake_settings, ROWS)

    copy_log(table, lake_settings)

    copies = [copy.name for copy in (delta_log.parent / COPIES_FOLDER).glob("*.json")]
    assert copies == [entry_name(ROWS + 1)]
