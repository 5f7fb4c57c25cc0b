"""A log entry is missing, empty or torn: no row is lost silently, and only its table waits."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_log import (
    COPIES_FOLDER,
    LOG_FOLDER,
    DamagedEntry,
    checkpoint_name,
    damaged_entries,
    entry_name,
    entry_problem,
)
from schemas.lake.delta_table import DamagedLog, open_table
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import refusal_reason
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER
from stream.app import Worker
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.log_copies import copy_log
from stream.maintenance.scheduler import MaintenanceScheduler
from stream.maintenance.vacuum import checkpoint
from stream.recovery.diagnosis import check_logs, repair_finding
from stream.runtime.errors import FatalError, LogDamaged, Unexpected
from stream.state.memory_budget import MemoryBudget
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import repair_logs, restore_entry
from stream.worker import _wait_for_repair, _writers
from stream.writing.batch_writer import BatchWriter
from stream.writing.worker_roles import LIVE
from tests.stream.builders import a_message, named, rows, settings, version

Damage = Callable[[Path], object]

DAMAGES: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda entry: entry.write_bytes(b""),
    "torn": lambda entry: entry.write_bytes(entry.read_bytes()[:400]),
    "without its add": lambda entry: _without(entry, b'{"add"'),
    "without its txn": lambda entry: _without(entry, b'{"txn"'),
    "with another offset": lambda entry: entry.write_bytes(
        entry.read_bytes().replace(
            b'"appId":"1/events/0","version":3', b'"appId":"1/events/0","version":2'
        )
    ),
}


def _without(entry: Path, beginning: bytes) -> None:
    lines = entry.read_bytes().splitlines(keepends=True)
    entry.write_bytes(b"".join(line for line in lines if not line.startswith(beginning)))


ROWS = 5


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose table `events` has ROWS versions of one row each, after version 0."""
    folder = tmp_path_factory.mktemp("whole")
    writer = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    for offset in range(ROWS):
        writer.write([a_message(offset, named(f"n{offset}"))])
    return folder


@pytest.fixture
def config(whole: Path, tmp_path: Path) -> Settings:
    shutil.copytree(whole, tmp_path / "data")
    return settings(tmp_path / "data", small_parts=2)


@pytest.fixture
def log(config: Settings) -> Path:
    return Path(config.lake_url) / "events" / LOG_FOLDER


def store(config: Settings, *offsets: int) -> None:
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    for offset in offsets:
        writer.write([a_message(offset, named(f"n{offset}"))])


def test_deltalake_alone_would_lose_the_rows_of_an_empty_entry(config: Settings, log: Path) -> None:
    DAMAGES["empty"](log / entry_name(3))

    assert DeltaTable(str(log.parent)).version() == ROWS
    with pytest.raises(DamagedLog, match=r"0003\.json is empty"):
        open_table(config.lake_url, EVENTS)


@pytest.mark.parametrize(
    ("version", "damage"),
    [*((0, name) for name in ("missing", "empty", "torn")), *((3, name) for name in DAMAGES)],
)
def test_a_damaged_first_or_middle_entry_is_never_opened(
    config: Settings, log: Path, version: int, damage: str
) -> None:
    DAMAGES[damage](log / entry_name(version))

    left = repair_logs(config)

    assert [damaged.version for damaged in left["events"]] == [version]
    with pytest.raises(DamagedLog, match=entry_name(version)):
        open_table(config.lake_url, EVENTS)
    with pytest.raises(DamagedLog, match=entry_name(version)):
        LakeTable(config, EVENTS)


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "missing"])
def test_a_damaged_newest_entry_is_moved_aside_and_its_batch_stored_again(
    config: Settings, log: Path, damage: str
) -> None:
    newest = log / entry_name(ROWS)
    newest.write_bytes(newest.read_bytes().replace(b'"version":5', b'"version":3'))
    DAMAGES[damage](newest)

    left = repair_logs(config)
    store(config, ROWS - 1)

    assert left == {}
    assert (log / f"_torn-{newest.name}").exists()
    assert rows(config, EVENTS, "name") == [(f"n{i}",) for i in range(ROWS)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_restored_from_the_keepers_copy(
    config: Settings, log: Path, damage: str
) -> None:
    copy_log(LakeTable(config, EVENTS), config)
    DAMAGES[damage](log / entry_name(3))

    assert repair_logs(config) == {}
    assert len(rows(config, EVENTS, "name")) == ROWS
    assert LakeTable(config, EVENTS).next_offset("1/events/0") == ROWS


def test_the_copy_of_a_commit_that_a_power_cut_undid_is_never_restored(
    config: Settings, log: Path
) -> None:
    copy_log(LakeTable(config, EVENTS), config)
    (log / entry_name(ROWS)).unlink()  # its name never reached the disk

    repair_logs(config)
    store(config, ROWS - 1, ROWS)
    (log / entry_name(ROWS)).write_bytes(b"")

    assert [damaged.version for damaged in repair_logs(config)["events"]] == [ROWS]


@pytest.mark.parametrize("version", [3, ROWS])
def test_an_entry_deleted_while_everything_runs_is_detected_and_restored(
    config: Settings, log: Path, version: int
) -> None:
    keeper = MaintenanceScheduler(config)
    keeper.run_cycle()
    (log / entry_name(version)).unlink()

    with pytest.raises(DamagedLog, match=f"{entry_name(version)} is missing"):
        open_table(config.lake_url, EVENTS)
    keeper.run_cycle()
    assert damaged_entries(log) == []
    assert len(rows(config, EVENTS, "name")) == ROWS


@pytest.mark.parametrize("when", ["at a start", "while it runs", "by the doctor"])
def test_a_log_deleted_as_a_whole_is_detected_and_restored(
    config: Settings, log: Path, when: str
) -> None:
    keeper = MaintenanceScheduler(config)
    keeper.run_cycle()
    shutil.rmtree(log)

    with pytest.raises(DamagedLog, match=r"00\.json is missing, .* and 3 more"):
        open_table(config.lake_url, EVENTS)
    with pytest.raises(DamagedLog):  # and no table is created in its place
        LakeTable(config, EVENTS)

    if when == "at a start":
        assert repair_logs(config) == {}
    elif when == "while it runs":
        keeper.run_cycle()
    else:
        [first, *_] = actual = list(check_logs(config))
        assert len(actual) == ROWS + 1
        assert repair_finding(config, first) is not None
        assert list(check_logs(config)) == []
    assert len(rows(config, EVENTS, "name")) == ROWS


def test_a_log_deleted_with_its_checkpoint_is_reported_and_never_recreated(
    config: Settings, log: Path
) -> None:
    table = LakeTable(config, EVENTS)
    checkpoint(table)
    store(config, ROWS)
    copy_log(table, config)
    shutil.rmtree(log)

    assert [damaged.version for damaged in repair_logs(config)["events"]] == list(range(ROWS + 1))
    with pytest.raises(DamagedLog):
        LakeTable(config, EVENTS)


def test_a_commit_that_took_the_place_of_a_deleted_entry_stays(config: Settings, log: Path) -> None:
    copy_log(LakeTable(config, EVENTS), config)
    newest = log / entry_name(ROWS)
    own = (log / entry_name(ROWS - 1)).read_bytes()
    newest.write_bytes(own)

    assert not restore_entry(log, DamagedEntry(ROWS, "is missing"))
    assert newest.read_bytes() == own


def test_copies_are_removed_when_a_checkpoint_covers_them(config: Settings, log: Path) -> None:
    table = LakeTable(config, EVENTS)
    copy_log(table, config)
    checkpoint(table)
    store(config, ROWS)

    copy_log(table, config)

    copies = [copy.name for copy in (log.parent / COPIES_FOLDER).glob("*.json")]
    assert copies == [entry_name(ROWS + 1)]


def test_damage_that_a_checkpoint_covers_is_no_damage(config: Settings, log: Path) -> None:
    checkpoint(LakeTable(config, EVENTS))
    (log / entry_name(2)).write_bytes(b"")

    assert damaged_entries(log) == []
    assert len(version(config, EVENTS).data_files) == ROWS


CHECKPOINT = checkpoint_name(ROWS)
DAMAGES_OF_CHECKPOINTS: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-50]),
    "flipped": lambda file: file.write_bytes(file.read_bytes().replace(b"day=", b"dax=", 1)),
}


@pytest.mark.parametrize("damage", DAMAGES_OF_CHECKPOINTS)
def test_a_damaged_checkpoint_is_moved_aside_while_the_entries_are_complete(
    config: Settings, log: Path, damage: str
) -> None:
    table = LakeTable(config, EVENTS)
    checkpoint(table)
    copy_log(table, config)
    store(config, ROWS)
    DAMAGES_OF_CHECKPOINTS[damage](log / CHECKPOINT)
    with pytest.raises(DamagedLog, match=CHECKPOINT):
        open_table(config.lake_url, EVENTS)

    assert repair_logs(config) == {}
    assert len(rows(config, EVENTS, "name")) == ROWS + 1


def test_a_damaged_checkpoint_without_its_entries_is_reported(config: Settings, log: Path) -> None:
    checkpoint(LakeTable(config, EVENTS))
    (log / entry_name(1)).unlink()
    (log / CHECKPOINT).write_bytes(b"")

    assert [damaged.name for damaged in repair_logs(config)["events"]] == [CHECKPOINT]
    assert (log / CHECKPOINT).exists()


def test_a_flipped_bit_in_a_log_entry_is_detected(log: Path) -> None:
    entry = (log / entry_name(1)).read_bytes()
    fields = (b'"path":"day=', b'"size":1', b"numRecords", b'"appId":"1/', b'"version":1')
    assert entry_problem(entry) is None

    for field in fields:
        for bit in range(8):
            flipped = bytearray(entry)
            flipped[entry.index(field) + len(field) - 1] ^= 1 << bit

            assert entry_problem(bytes(flipped)) is not None, field


def test_a_commit_records_a_checksum_of_its_content(log: Path) -> None:
    assert "adds=1 removes=0 txns=1 sha256=" in (log / entry_name(1)).read_text()


def test_entries_of_older_releases_without_a_checksum_are_accepted(log: Path) -> None:
    info, *rest = (log / entry_name(1)).read_bytes().splitlines(keepends=True)
    old = info[: info.index(b',"tidemark"')] + b"}}\n"

    assert entry_problem(old + b"".join(rest)) is None
    assert entry_problem(old) is None


def test_other_tables_are_maintained_while_one_cannot_be_opened(
    config: Settings, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entry = (log / entry_name(3)).read_bytes()
    (log / entry_name(3)).unlink()

    keeper = MaintenanceScheduler(config)
    keeper.run_cycle()
    keeper.run_cycle()

    assert len(version(config, LEDGER).data_files) == 1
    message = [r.__dict__ for r in caplog.records if r.getMessage() == "maintenance task failed"]
    assert [(one["table"], entry_name(3) in one["reason"]) for one in message] == [("events", True)]

    (log / entry_name(3)).write_bytes(entry)
    keeper.run_cycle()

    assert len(version(config, EVENTS).data_files) == 1


@pytest.mark.parametrize("entry", [b"", b'{"nothing": "that says what the table is"}\n'])
def test_a_worker_skips_a_damaged_table_and_stores_into_the_others(
    config: Settings, log: Path, caplog: pytest.LogCaptureFixture, entry: bytes
) -> None:
    (log / entry_name(0)).write_bytes(entry)

    writers, damaged_tables = _writers(config, LIVE, Lookups(), MemoryBudget.of(config))

    assert list(damaged_tables) == ["events"]
    assert sorted(writers) == ["clicks", "engagement", "errors", "identities", "vitals"]
    assert [r.getMessage() for r in caplog.records if r.levelname == "CRITICAL"] == [
        "table skipped: its messages wait in Kafka until its log is repaired"
    ]


def test_a_worker_without_any_table_reports_it_and_waits_for_the_repair(config: Settings) -> None:
    entry = Path(config.lake_url) / "ledger" / LOG_FOLDER / entry_name(2)
    whole = entry.read_bytes()
    entry.write_bytes(b"")

    writers, damaged_tables = _writers(config, LIVE, Lookups(), MemoryBudget.of(config))

    async def waiting() -> None:
        await asyncio.wait_for(_wait_for_repair(config, "worker-1", damaged_tables), 0.1)

    assert writers == {}
    with pytest.raises(TimeoutError):
        asyncio.run(waiting())
    message = refusal_reason(config.data / "run", now_ms())
    assert message == (
        "worker-1: messages for clicks, engagement, errors, events, identities, vitals wait in "
        f"Kafka, because a log is damaged ({entry.parent}: {entry.name} is empty); "
        "run tidemark doctor --repair"
    )
    entry.write_bytes(whole)
    repaired, _ = _writers(config, LIVE, Lookups(), MemoryBudget.of(config), quiet=True)
    assert len(repaired) == len(LIVE.kinds)


class Ended(Exception):
    """Raised in place of exiting the process."""


@pytest.mark.parametrize(
    ("failed", "why"),
    [
        (DamagedLog("/lake/events/_delta_log: 07.json is empty"), LogDamaged),
        (ValueError("nobody thought of it"), Unexpected),
    ],
)
def test_a_worker_exits_with_the_reason_when_its_table_breaks_while_it_stores(
    config: Settings, failed: Exception, why: type[FatalError]
) -> None:
    problems: list[FatalError] = []

    def end(error: FatalError) -> None:
        problems.append(error)
        raise Ended

    def work(_: None) -> None:
        raise failed

    worker = Worker(config, "worker-1", {}, end)

    with pytest.raises(Ended):
        asyncio.run(worker._run_in_thread(work, None))

    assert [type(error) for error in problems] == [why]
    assert str(failed) in str(problems[0])
