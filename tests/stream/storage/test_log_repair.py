"""A log entry is missing, empty or torn: nothing is silently less, and only its table waits."""

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
    """A data folder whose table `events` has so many versions with one row; 0 is the table."""
    folder = tmp_path_factory.mktemp("whole")
    drain = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    for offset in range(ROWS):
        drain.write([a_message(offset, named(f"n{offset}"))])
    return folder


@pytest.fixture
def given(whole: Path, tmp_path: Path) -> Settings:
    shutil.copytree(whole, tmp_path / "data")
    return settings(tmp_path / "data", small_parts=2)


@pytest.fixture
def log(given: Settings) -> Path:
    return Path(given.lake_url) / "events" / LOG_FOLDER


def store(given: Settings, *offsets: int) -> None:
    drain = BatchWriter(given, CUSTOM_EVENT, Lookups())
    for offset in offsets:
        drain.write([a_message(offset, named(f"n{offset}"))])


def test_deltalake_alone_would_lose_the_rows_of_an_empty_entry(given: Settings, log: Path) -> None:
    DAMAGES["empty"](log / entry_name(3))

    assert DeltaTable(str(log.parent)).version() == ROWS
    with pytest.raises(DamagedLog, match=r"0003\.json is empty"):
        open_table(given.lake_url, EVENTS)


@pytest.mark.parametrize(
    ("place", "damage"),
    [*((0, name) for name in ("missing", "empty", "torn")), *((3, name) for name in DAMAGES)],
)
def test_a_damaged_entry_in_front_or_middle_is_never_opened(
    given: Settings, log: Path, place: int, damage: str
) -> None:
    DAMAGES[damage](log / entry_name(place))

    left = repair_logs(given)

    assert [broken.version for broken in left["events"]] == [place]
    with pytest.raises(DamagedLog, match=entry_name(place)):
        open_table(given.lake_url, EVENTS)
    with pytest.raises(DamagedLog, match=entry_name(place)):
        LakeTable(given, EVENTS)


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "missing"])
def test_a_damaged_newest_entry_is_put_aside_and_stored_again(
    given: Settings, log: Path, damage: str
) -> None:
    newest = log / entry_name(ROWS)
    newest.write_bytes(newest.read_bytes().replace(b'"version":5', b'"version":3'))
    DAMAGES[damage](newest)

    left = repair_logs(given)
    store(given, ROWS - 1)

    assert left == {}
    assert (log / f"_torn-{newest.name}").exists()
    assert rows(given, EVENTS, "name") == [(f"n{i}",) for i in range(ROWS)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_put_back_from_the_keepers_copy(
    given: Settings, log: Path, damage: str
) -> None:
    copy_log(LakeTable(given, EVENTS), given)
    DAMAGES[damage](log / entry_name(3))

    assert repair_logs(given) == {}
    assert len(rows(given, EVENTS, "name")) == ROWS
    assert LakeTable(given, EVENTS).next_offset("1/events/0") == ROWS


def test_the_copy_of_a_commit_that_a_power_cut_took_back_is_never_put_back(
    given: Settings, log: Path
) -> None:
    copy_log(LakeTable(given, EVENTS), given)
    (log / entry_name(ROWS)).unlink()  # its name never reached the disk

    repair_logs(given)
    store(given, ROWS - 1, ROWS)
    (log / entry_name(ROWS)).write_bytes(b"")

    assert [broken.version for broken in repair_logs(given)["events"]] == [ROWS]


@pytest.mark.parametrize("version", [3, ROWS])
def test_an_entry_that_is_deleted_while_everything_runs_is_missed_and_put_back(
    given: Settings, log: Path, version: int
) -> None:
    keeper = MaintenanceScheduler(given)
    keeper.run_cycle()
    (log / entry_name(version)).unlink()

    with pytest.raises(DamagedLog, match=f"{entry_name(version)} is missing"):
        open_table(given.lake_url, EVENTS)
    keeper.run_cycle()
    assert damaged_entries(log) == []
    assert len(rows(given, EVENTS, "name")) == ROWS


@pytest.mark.parametrize("when", ["at a start", "while it runs", "by the doctor"])
def test_a_log_that_is_deleted_as_a_whole_is_missed_and_put_back(
    given: Settings, log: Path, when: str
) -> None:
    keeper = MaintenanceScheduler(given)
    keeper.run_cycle()
    shutil.rmtree(log)

    with pytest.raises(DamagedLog, match=r"00\.json is missing, .* and 3 more"):
        open_table(given.lake_url, EVENTS)
    with pytest.raises(DamagedLog):  # and no table is made anew in its place
        LakeTable(given, EVENTS)

    if when == "at a start":
        assert repair_logs(given) == {}
    elif when == "while it runs":
        keeper.run_cycle()
    else:
        [first, *_] = found = list(check_logs(given))
        assert len(found) == ROWS + 1
        assert repair_finding(given, first) is not None
        assert list(check_logs(given)) == []
    assert len(rows(given, EVENTS, "name")) == ROWS


def test_a_deleted_log_whose_checkpoint_went_with_it_is_told_and_never_begun_anew(
    given: Settings, log: Path
) -> None:
    table = LakeTable(given, EVENTS)
    checkpoint(table)
    store(given, ROWS)
    copy_log(table, given)
    shutil.rmtree(log)

    assert [broken.version for broken in repair_logs(given)["events"]] == list(range(ROWS + 1))
    with pytest.raises(DamagedLog):
        LakeTable(given, EVENTS)


def test_a_commit_that_took_the_place_of_a_deleted_entry_stays(given: Settings, log: Path) -> None:
    copy_log(LakeTable(given, EVENTS), given)
    newest = log / entry_name(ROWS)
    own = (log / entry_name(ROWS - 1)).read_bytes()
    newest.write_bytes(own)

    assert not restore_entry(log, DamagedEntry(ROWS, "is missing"))
    assert newest.read_bytes() == own


def test_copies_go_with_the_checkpoint_that_holds_them(given: Settings, log: Path) -> None:
    table = LakeTable(given, EVENTS)
    copy_log(table, given)
    checkpoint(table)
    store(given, ROWS)

    copy_log(table, given)

    copies = [copy.name for copy in (log.parent / COPIES_FOLDER).glob("*.json")]
    assert copies == [entry_name(ROWS + 1)]


def test_damage_that_a_checkpoint_covers_is_no_damage(given: Settings, log: Path) -> None:
    checkpoint(LakeTable(given, EVENTS))
    (log / entry_name(2)).write_bytes(b"")

    assert damaged_entries(log) == []
    assert len(version(given, EVENTS).data_files) == ROWS


CHECKPOINT = checkpoint_name(ROWS)
DAMAGES_OF_CHECKPOINTS: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-50]),
    "flipped": lambda file: file.write_bytes(file.read_bytes().replace(b"day=", b"dax=", 1)),
}


@pytest.mark.parametrize("damage", DAMAGES_OF_CHECKPOINTS)
def test_a_damaged_checkpoint_is_put_aside_while_the_entries_say_all(
    given: Settings, log: Path, damage: str
) -> None:
    table = LakeTable(given, EVENTS)
    checkpoint(table)
    copy_log(table, given)
    store(given, ROWS)
    DAMAGES_OF_CHECKPOINTS[damage](log / CHECKPOINT)
    with pytest.raises(DamagedLog, match=CHECKPOINT):
        open_table(given.lake_url, EVENTS)

    assert repair_logs(given) == {}
    assert len(rows(given, EVENTS, "name")) == ROWS + 1


def test_a_damaged_checkpoint_whose_entries_are_gone_is_told(given: Settings, log: Path) -> None:
    checkpoint(LakeTable(given, EVENTS))
    (log / entry_name(1)).unlink()
    (log / CHECKPOINT).write_bytes(b"")

    assert [broken.name for broken in repair_logs(given)["events"]] == [CHECKPOINT]
    assert (log / CHECKPOINT).exists()


def test_a_flipped_bit_in_what_a_commit_did_is_noticed(log: Path) -> None:
    entry = (log / entry_name(1)).read_bytes()
    fields = (b'"path":"day=', b'"size":1', b"numRecords", b'"appId":"1/', b'"version":1')
    assert entry_problem(entry) is None

    for field in fields:
        for bit in range(8):
            flipped = bytearray(entry)
            flipped[entry.index(field) + len(field) - 1] ^= 1 << bit

            assert entry_problem(bytes(flipped)) is not None, field


def test_a_commit_says_what_it_consists_of(log: Path) -> None:
    assert "adds=1 removes=0 txns=1 sha256=" in (log / entry_name(1)).read_text()


def test_entries_of_older_versions_say_nothing_and_are_believed(log: Path) -> None:
    info, *rest = (log / entry_name(1)).read_bytes().splitlines(keepends=True)
    old = info[: info.index(b',"tidemark"')] + b"}}\n"

    assert entry_problem(old + b"".join(rest)) is None
    assert entry_problem(old) is None


def test_other_tables_are_kept_while_one_cannot_be_opened_and_it_is_again_once_whole(
    given: Settings, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entry = (log / entry_name(3)).read_bytes()
    (log / entry_name(3)).unlink()

    keeper = MaintenanceScheduler(given)
    keeper.run_cycle()
    keeper.run_cycle()

    assert len(version(given, LEDGER).data_files) == 1
    said = [r.__dict__ for r in caplog.records if r.getMessage() == "maintenance task failed"]
    assert [(one["table"], entry_name(3) in one["reason"]) for one in said] == [("events", True)]

    (log / entry_name(3)).write_bytes(entry)
    keeper.run_cycle()

    assert len(version(given, EVENTS).data_files) == 1


@pytest.mark.parametrize("entry", [b"", b'{"nothing": "that says what the table is"}\n'])
def test_a_worker_leaves_a_damaged_table_out_and_stores_into_the_others(
    given: Settings, log: Path, caplog: pytest.LogCaptureFixture, entry: bytes
) -> None:
    (log / entry_name(0)).write_bytes(entry)

    drains, left_out = _writers(given, LIVE, Lookups(), MemoryBudget.of(given))

    assert list(left_out) == ["events"]
    assert sorted(drains) == ["clicks", "engagement", "errors", "identities", "vitals"]
    assert [r.getMessage() for r in caplog.records if r.levelname == "CRITICAL"] == [
        "table skipped: its messages wait in Kafka until its log is repaired"
    ]


def test_a_worker_without_any_table_says_so_and_waits_to_be_mended(given: Settings) -> None:
    entry = Path(given.lake_url) / "ledger" / LOG_FOLDER / entry_name(2)
    whole = entry.read_bytes()
    entry.write_bytes(b"")

    drains, left_out = _writers(given, LIVE, Lookups(), MemoryBudget.of(given))

    async def waiting() -> None:
        await asyncio.wait_for(_wait_for_repair(given, "worker-1", left_out), 0.1)

    assert drains == {}
    with pytest.raises(TimeoutError):
        asyncio.run(waiting())
    said = refusal_reason(given.data / "run", now_ms())
    assert said == (
        "worker-1: messages for clicks, engagement, errors, events, identities, vitals wait in "
        f"Kafka, because a log is damaged ({entry.parent}: {entry.name} is empty); "
        "run tidemark doctor --repair"
    )
    entry.write_bytes(whole)
    mended, _ = _writers(given, LIVE, Lookups(), MemoryBudget.of(given), quiet=True)
    assert len(mended) == len(LIVE.kinds)


class Ended(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize(
    ("failed", "why"),
    [
        (DamagedLog("/lake/events/_delta_log: 07.json is empty"), LogDamaged),
        (ValueError("nobody thought of it"), Unexpected),
    ],
)
def test_a_worker_ends_at_once_and_says_why_when_its_table_breaks_while_it_stores(
    given: Settings, failed: Exception, why: type[FatalError]
) -> None:
    told: list[FatalError] = []

    def end(surprise: FatalError) -> None:
        told.append(surprise)
        raise Ended

    def work(_: None) -> None:
        raise failed

    worker = Worker(given, "worker-1", {}, end)

    with pytest.raises(Ended):
        asyncio.run(worker._run_in_thread(work, None))

    assert [type(surprise) for surprise in told] == [why]
    assert str(failed) in str(told[0])
