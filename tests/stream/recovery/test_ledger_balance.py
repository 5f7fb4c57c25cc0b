"""Rows that another tool deleted, and copies of a running lake: what the doctor advises."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from deploy.local.registry_startup import prepare_registry
from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.backup.file_store import LocalFiles
from stream.backup.lake_backup import take_backup
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.recovery.diagnosis import check_files
from stream.recovery.ledger_balance import check_balance
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, named, settings

STORED = 4


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    config = settings(tmp_path / "data", small_parts=2)
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    for offset in range(STORED):
        writer.write([a_message(offset, named(f"e{offset}"))])
    return config


def test_a_deletion_by_another_tool_is_named_and_no_restore_of_everything_is_advised(
    config: Settings,
) -> None:
    DeltaTable(f"{config.lake_url}/events").delete("name = 'e1'")

    [finding] = check_balance(config)

    version = STORED + 1  # behind version 0 and a commit for each message
    assert finding.problem == (
        "3 rows are stored, but the ledger counted 4; "
        f"version {version} is a DELETE of another tool"
    )
    assert finding.remedy == (
        "accept it, if that was on purpose; else restore a backup that has the rows into another "
        "folder (tidemark restore TARGET --into FOLDER) and switch over; without one accept the "
        "finding"
    )


def test_rows_that_were_lost_are_to_be_looked_for_by_verify(config: Settings) -> None:
    table = LakeTable(config, EVENTS)
    path = table.handle.get_add_actions()["path"].to_pylist()[0]
    table.replace_files({path: path.partition("/")[0].removeprefix("day=")}, [])

    [finding] = check_balance(config)

    assert finding.problem == "3 rows are stored, but the ledger counted 4"
    assert finding.remedy.startswith("tidemark verify names websites, hours and offsets; restore")


def test_the_doctor_of_a_copy_says_what_is_missing_and_how_to_back_up(
    config: Settings, tmp_path: Path
) -> None:
    lake, copy = Path(config.lake_url), tmp_path / "copy" / "lake"
    shutil.copytree(lake / "events" / "_delta_log", copy / "events" / "_delta_log")
    compact(LakeTable(config, EVENTS), config)
    merged, *_ = LakeTable(config, EVENTS).handle.file_uris()
    shutil.copytree(Path(merged).parent, copy / "events" / Path(merged).parent.name)
    gone = sorted(path for path in copy.glob("events/day=*/*") if path.name != Path(merged).name)
    for path in gone[:3]:
        path.unlink()  # as vacuum did in the lake before it was their turn

    findings = list(check_files(settings(tmp_path / "copy")))

    assert sorted(finding.subject for finding in findings) == sorted(
        str(path.relative_to(copy)) for path in gone[:3]
    )
    for finding in findings:
        assert finding.problem == "the data file is missing; it holds 1 rows"
        assert finding.remedy.startswith(
            "in a copy of a running lake it was replaced before it was copied: back up with "
            "`tidemark backup TARGET` instead"
        )


def test_a_file_of_a_backup_mends_a_damaged_one(config: Settings, tmp_path: Path) -> None:
    target = tmp_path / "target"
    prepare_registry(config, create_new=True)
    take_backup(config, LocalFiles(target))
    [path, *_] = LakeTable(config, EVENTS).handle.get_add_actions()["path"].to_pylist()
    (Path(config.lake_url) / "events" / path).write_bytes(b"PAR1 damaged PAR1")
    [finding] = check_files(config, checksums=True)
    assert f"copy it from a backup (TARGET/files/events/{path})" in finding.remedy

    shutil.copy(target / "files" / "events" / path, Path(config.lake_url) / "events" / path)

    assert list(check_files(config, checksums=True)) == []
