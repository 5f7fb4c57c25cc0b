"""The scrub finds silent damage, stores checksums of old files, and resumes after a kill."""

import shutil
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.damage_reports import DamageReports
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.log_copies import copy_log
from stream.maintenance.scrub import INTERVAL_MS, Scrubber, ScrubState, load, save, scrub, scrub_all
from stream.recovery.diagnosis import check_files, check_logs, repair_finding
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, named, replace_data_file, settings, version

FILES = 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    drain = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    for offset in range(FILES):
        drain.write([a_message(offset, named("a", "b"))])
    return folder


@pytest.fixture
def config(whole: Path, tmp_path: Path) -> Settings:
    shutil.copytree(whole, tmp_path / "data")
    return settings(tmp_path / "data", scrub_mb=1000)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def noted(config: Settings) -> dict[str, str]:
    return {name: note.problem for name, note in DamageReports(config.data).files().items()}


def a_round(config: Settings) -> None:
    Scrubber(config, threading.Event()).run_cycle(EVENTS)


def test_a_flipped_bit_is_reported_until_the_file_is_restored(config: Settings) -> None:
    file = Path(version(config, EVENTS).data_files[2].path)
    data = file.read_bytes()
    flip(file)

    a_round(config)
    found = noted(config)
    file.write_bytes(data)
    a_round(config)

    assert found == {file.name: "has a wrong checksum"}
    assert noted(config) == {}


def test_a_file_without_a_checksum_gets_one_and_is_compared_with_it(config: Settings) -> None:
    part = version(config, EVENTS).data_files[0]
    old = replace_data_file(
        LakeTable(config, EVENTS), part, pq.read_table(part.path, partitioning=None)
    )

    adopted = [one.path for one in scrub_all(config) if one.is_checksum_new]
    flip(old)
    problems = {one.path: one.problem for one in scrub_all(config) if one.problem}

    path = f"{old.parent.name}/{old.name}"
    assert adopted == [path]
    assert problems == {path: "has a wrong checksum"}


def test_a_killed_cycle_resumes_at_the_next_file(config: Settings) -> None:
    table, state = LakeTable(config, EVENTS), ScrubState()
    killed = scrub(table, state, lambda read: None)
    first = [next(killed).path, next(killed).path]
    next(killed)  # under way
    save(config, EVENTS, state)

    rest = [one.path for one in scrub(table, load(config, EVENTS), lambda read: None)]

    assert (len(first), len(rest)) == (2, 2)
    assert not set(first) & set(rest)


def test_a_cycle_runs_once_a_day_and_never_at_a_rate_of_0(config: Settings) -> None:
    a_round(config)
    ended = load(config, EVENTS)
    a_round(config)
    again = load(config, EVENTS)
    save(config, EVENTS, ScrubState(began_ms=ended.began_ms - INTERVAL_MS, ended_ms=7))
    Scrubber(settings(config.data, scrub_mb=0), threading.Event()).run_cycle(EVENTS)
    never = load(config, EVENTS)
    a_round(config)

    assert ended.ended_ms == again.ended_ms > 0
    assert never.ended_ms == 7
    assert load(config, EVENTS).ended_ms >= ended.ended_ms


def test_the_doctor_names_damage_and_restores_entries_from_copies(config: Settings) -> None:
    files = [Path(part.path) for part in version(config, EVENTS).data_files]
    copy_log(LakeTable(config, EVENTS), config)
    log = config.data / "lake" / "events" / "_delta_log"
    size = files[0].stat().st_size
    assert [*check_logs(config), *check_files(config, checksums=True)] == []

    files[0].write_bytes(b"")
    flip(files[1])
    quick, thorough = list(check_files(config)), list(check_files(config, checksums=True))
    (log / f"{2:020}.json").write_bytes(b"")
    (log / f"{3:020}.json").unlink()
    entries = list(check_logs(config))
    finding = repair_finding(config, entries[0])

    assert [one.problem for one in quick] == [
        f"the data file has 0 bytes, not {size}; it holds 2 rows"
    ]
    assert len(thorough) == 2
    assert [one.problem for one in entries] == [
        "the log entry is empty",
        "the log entry is missing",
    ]
    assert finding == f"{2:020}.json, {3:020}.json of table 'events' repaired"
    assert list(check_logs(config)) == []
