"""A data file is missing, flipped, truncated or empty: only its own rows are affected."""

import random
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.damage_reports import DamageReports
from schemas.lake.data_files import file_problem, frame_problem, named_checksum
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.rewrite import rewrite_files
from stream.maintenance.scheduler import MaintenanceScheduler
from stream.maintenance.verification import DamagedFileError
from stream.recovery.file_repair import NotRepaired, repair
from stream.runtime.errors import Unreachable
from stream.state.table_scan import scan_recent_rows
from stream.storage.delta_commit import LakeTable
from stream.storage.object_store import LOCK_FILE
from stream.writing.batch_writer import BatchWriter
from tests.accidents import ACCIDENTS, accidents, flip
from tests.installation import free_port
from tests.stream.builders import (
    NOON_MS,
    a_message,
    an_envelope,
    replace_data_file,
    settings,
    version,
)

FILES = 4

PROBLEMS = {
    "deleted": "is missing",
    "flipped": "has a wrong checksum",
    "truncated": r"has \d+ bytes, not \d+",
    "emptied": r"has 0 bytes, not \d+",
}


def views(offset: int) -> Any:
    """A message of five visitors without sessions, whose items have ids."""
    items = [
        {
            "name": "screen_view",
            "anonymousId": f"a{i}",
            "eventId": f"e{offset}-{i}",
            "timestamp": NOON_MS,
        }
        for i in range(5)
    ]
    return a_message(offset, an_envelope(items))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with `events` in FILES files of five rows each."""
    folder = tmp_path_factory.mktemp("whole")
    drain = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    for offset in range(FILES):
        drain.write([views(offset)])
    return folder


@pytest.fixture
def config(whole: Path, tmp_path: Path) -> Settings:
    shutil.copytree(whole, tmp_path / "data")
    return settings(tmp_path / "data", small_parts=2)


@pytest.fixture
def file(config: Settings) -> Path:
    """One data file of `events`."""
    return Path(version(config, EVENTS).data_files[1].path)


def noted(config: Settings) -> list[str]:
    return [note.problem for note in DamageReports(config.data).files().values()]


@accidents
def test_storing_goes_on_for_all_tenants_when_a_data_file_is(
    config: Settings, file: Path, accident: str, caplog: pytest.LogCaptureFixture
) -> None:
    ACCIDENTS[accident](file)
    drain = BatchWriter(config, CUSTOM_EVENT, Lookups())  # knows nothing yet, and reads back

    stored = [drain.write([views(offset)]) for offset in (FILES, FILES + 1)]

    assert [batch.rows for batch in stored] == [5, 5]
    log_records = [r.__dict__ for r in caplog.records if r.getMessage() == "data file is damaged"]
    assert [one["file"] for one in log_records] == [f"{file.parent.name}/{file.name}"]
    assert "duplicates of its items are not recognized" in log_records[0]["so"]
    assert len(noted(config)) == 1


def test_duplicates_of_rows_in_other_files_are_still_recognized(
    config: Settings, file: Path
) -> None:
    lost = Path(file).name
    undamaged = {Path(part.path).name for part in version(config, EVENTS).data_files} - {lost}
    file.unlink()
    drain = BatchWriter(config, CUSTOM_EVENT, Lookups())

    again = a_message(FILES, *(an_envelope(_items(offset)) for offset in range(FILES)))
    stored = drain.write([again])

    assert (stored.rows, stored.duplicates) == (5, 5 * len(undamaged))


def _items(offset: int) -> list[dict[str, Any]]:
    return [{"name": "again", "anonymousId": "b", "eventId": f"e{offset}-{i}"} for i in range(5)]


@accidents
def test_compaction_goes_round_a_data_file_that_is(
    config: Settings, file: Path, accident: str
) -> None:
    ACCIDENTS[accident](file)
    keeper = MaintenanceScheduler(config)

    keeper.run_cycle()
    keeper.run_cycle()

    live = {Path(part.path).name: part.rows for part in version(config, EVENTS).data_files}
    assert live.pop(file.name) == 5
    assert list(live.values()) == [5 * (FILES - 1)]
    assert len(version(config, LEDGER).data_files) == 1
    [problem] = noted(config)
    assert re.fullmatch(PROBLEMS[accident], problem)


@accidents
def test_nothing_is_rewritten_from_a_data_file_that_is(
    config: Settings, file: Path, accident: str
) -> None:
    ACCIDENTS[accident](file)
    table = LakeTable(config, EVENTS)
    before = sorted((config.data / "lake" / "events").rglob("*.parquet"))

    with pytest.raises(DamagedFileError, match=PROBLEMS[accident]):
        rewrite_files(table, live_data_files(table.handle, EVENTS), lambda found: found)

    assert sorted((config.data / "lake" / "events").rglob("*.parquet")) == before


def test_every_one_of_300_flipped_bits_is_found(config: Settings, file: Path) -> None:
    table = LakeTable(config, EVENTS)
    compact(table, config)
    [compacted] = version(config, EVENTS).data_files
    chance = random.Random(7)
    found = 0

    for path in [file] * 150 + [Path(compacted.path)] * 150:
        data = path.read_bytes()
        flipped = bytearray(data)
        flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        found += file_problem(path, len(data)) is not None
        path.write_bytes(data)

    assert found == 300
    assert file_problem(file, file.stat().st_size) is None


def test_every_writer_names_the_checksum(config: Settings) -> None:
    table = LakeTable(config, EVENTS)
    compact(table, config)
    table.refresh()
    rewrite_files(table, live_data_files(table.handle, EVENTS), lambda found: found.slice(1))

    for part in version(config, EVENTS).data_files:
        assert named_checksum(part.path)
        assert file_problem(Path(part.path), part.size) is None


def test_a_file_without_checksum_is_judged_by_its_frame_alone(tmp_path: Path, file: Path) -> None:
    old = tmp_path / "old.parquet"
    shutil.copy(file, old)
    size = old.stat().st_size
    flip(old)

    assert file_problem(old, size) is None
    old.write_bytes(bytes(size))
    assert file_problem(old, size) == frame_problem(old, size) == "is not a Parquet file"


def test_a_compaction_that_fails_leaves_nothing_behind(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = LakeTable(config, EVENTS)
    before = sorted((config.data / "lake" / "events").rglob("*.parquet"))

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(table.store, "adopt", full)
    with pytest.raises(OSError, match="no space left"):
        compact(table, config)

    assert sorted((config.data / "lake" / "events").rglob("*.parquet")) == before
    assert [left.name for left in table.store.scratch_directory().iterdir()] == [LOCK_FILE]


def test_no_flipped_bit_of_an_old_file_stops_the_rebuild_of_state(config: Settings) -> None:
    table = LakeTable(config, EVENTS)
    part = version(config, EVENTS).data_files[1]
    old = replace_data_file(table, part, pq.read_table(part.path, partitioning=None))
    data = old.read_bytes()
    chance = random.Random(11)

    for _ in range(60):
        flipped = bytearray(data)
        flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        old.write_bytes(flipped)
        for batch in scan_recent_rows(table, ["session_id"], pc.scalar(True), [0], NOON_MS - 1000):
            batch.to_pylist()
        for note in table.damage_reports.files().values():
            table.damage_reports.clear(note)


def test_a_damage_report_is_seen_by_other_processes_until_it_is_cleared(
    config: Settings, file: Path
) -> None:
    mine, others = DamageReports(config.data), DamageReports(config.data)
    assert others.files() == {}
    file.unlink()
    MaintenanceScheduler(config).run_cycle()

    [note] = others.files().values()
    assert (note.table, note.rows, note.day) == ("events", 5, "2026-11-21")
    mine.clear(note)
    assert others.files() == {}


def test_no_row_is_given_up_while_kafka_does_not_answer(config: Settings, file: Path) -> None:
    away = settings(config.data, kafka=f"127.0.0.1:{free_port()}")
    before = version(config, EVENTS)
    file.unlink()

    with pytest.raises(Unreachable):
        repair(away, f"events/{file.parent.name}/{file.name}", Lookups(), accept_loss=True)

    assert version(config, EVENTS) == before


def test_a_file_of_a_side_table_goes_only_when_its_loss_is_accepted(config: Settings) -> None:
    part = version(config, LEDGER).data_files[0]
    flip(Path(part.path))
    subject = f"ledger/day={part.day}/{Path(part.path).name}"

    with pytest.raises(NotRepaired, match="its rows are in no topic"):
        repair(config, subject, Lookups())
    done = repair(config, subject, Lookups(), accept_loss=True)

    assert (done.recovered, done.lost) == (0, part.rows)
    assert len(version(config, LEDGER).data_files) == FILES - 1
    with pytest.raises(NotRepaired, match="not in the present version"):
        repair(config, subject, Lookups(), accept_loss=True)


def test_an_undamaged_file_is_never_removed(config: Settings, file: Path) -> None:
    with pytest.raises(NotRepaired, match="is not damaged"):
        repair(config, f"events/{file.parent.name}/{file.name}", Lookups(), accept_loss=True)
