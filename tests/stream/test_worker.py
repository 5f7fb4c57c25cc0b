"""What a worker makes of its start, its progress and a torn log."""

import json
from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.heartbeat import (
    REFUSED,
    Heartbeat,
    PartitionProgress,
    read_heartbeats,
    refusal_reason,
)
from schemas.tables import EVENTS
from stream.consumer.progress import FETCH_LAG_MS, STUCK_SECONDS, WorkerProgress
from stream.enrich.rules.lookups import Lookups
from stream.runtime.errors import Stuck
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.log_repair import repair_logs
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, named, rows, settings

STARTED = Heartbeat("worker-1", 77, 0, "starting")


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    def now_ms(self) -> int:
        return int(self.seconds * 1000)


def a_journal(clock: Clock) -> WorkerProgress:
    journal = WorkerProgress(clock.now_ms, clock.monotonic)
    journal.assign({("events", 0): 5, ("events", 1): 0})
    return journal


def test_a_pulse_says_how_far_each_partition_is(tmp_path: Path) -> None:
    clock = Clock()
    journal = a_journal(clock)
    journal.note_end_offsets({("events", 0): 9})
    journal.note_end_offsets({("events", 1): 0})

    journal.write_heartbeat(tmp_path, "worker-1", 77, STARTED)

    assert [p.progress for p in read_heartbeats(tmp_path)] == [
        (PartitionProgress("events", 0, 5, 9), PartitionProgress("events", 1, 0, 0))
    ]
    assert read_heartbeats(tmp_path)[0].complete_ms == {}

    journal.batch_written("events", {0: 9}, {0: 990_000})
    journal.note_end_offsets({})
    journal.write_heartbeat(tmp_path, "worker-1", 77, STARTED)

    assert read_heartbeats(tmp_path)[0].complete_ms == {"events": 1_000_000 - FETCH_LAG_MS}


def test_a_refusal_is_told_until_the_worker_is_in_the_group(tmp_path: Path) -> None:
    clock = Clock()
    journal = a_journal(clock)
    before = Heartbeat("worker-1", 76, 999_000, REFUSED, reason="the address is wrong")

    journal.write_heartbeat(tmp_path, "worker-1", 77, before)
    assert refusal_reason(tmp_path, 1_001_000) == "worker-1: the address is wrong"
    assert refusal_reason(tmp_path, 1_061_000) is None  # nobody starts it any more

    journal.note_membership(joined=True)
    journal.write_heartbeat(tmp_path, "worker-1", 77, before)
    assert [(pulse.state, pulse.reason) for pulse in read_heartbeats(tmp_path)] == [("ready", "")]


def test_a_table_that_is_left_out_is_told_for_as_long_as_it_is(tmp_path: Path) -> None:
    journal = a_journal(Clock())
    journal.note_membership(joined=True)

    journal.write_heartbeat(
        tmp_path, "worker-1", 77, STARTED, "events waits; tidemark doctor --repair"
    )
    assert refusal_reason(tmp_path, 1_001_000) == "worker-1: events waits; tidemark doctor --repair"

    journal.write_heartbeat(tmp_path, "worker-1", 77, STARTED)
    assert refusal_reason(tmp_path, 1_001_000) is None


def complete(journal: WorkerProgress, run: Path) -> dict[str, int]:
    journal.write_heartbeat(run, "worker-1", 77, STARTED)
    return read_heartbeats(run)[0].complete_ms


def test_a_busy_partition_is_complete_up_to_its_last_stored_message(tmp_path: Path) -> None:
    journal = a_journal(Clock())
    journal.batch_written("events", {0: 8}, {0: 998_500})
    journal.note_end_offsets({("events", 0): 9, ("events", 1): 0})

    assert complete(journal, tmp_path) == {"events": 998_500}


def test_nothing_is_complete_while_one_partition_is_not_known(tmp_path: Path) -> None:
    journal = a_journal(Clock())
    journal.note_end_offsets({("events", 0): 5})

    assert complete(journal, tmp_path) == {}


def test_new_partitions_begin_without_a_word(tmp_path: Path) -> None:
    journal = a_journal(Clock())
    journal.note_end_offsets({("events", 0): 5, ("events", 1): 0})
    journal.assign({("events", 0): 5, ("events", 2): 0})

    assert complete(journal, tmp_path) == {}


def test_work_that_is_there_and_not_done_for_long_ends_the_worker() -> None:
    clock = Clock()
    journal = a_journal(clock)
    journal.note_end_offsets({("events", 0): 9})
    clock.seconds += STUCK_SECONDS + 1
    journal.note_membership(True)
    journal.note_end_offsets({("events", 0): 10})

    with pytest.raises(Stuck, match="nothing stored for 61 s"):
        journal.raise_if_stuck()


def test_a_worker_that_reads_back_is_not_stuck() -> None:
    clock = Clock()
    journal = a_journal(clock)
    journal.note_end_offsets({("events", 0): 9})
    clock.seconds += STUCK_SECONDS
    journal.note_membership(True)
    journal.note_scan(1)
    clock.seconds += STUCK_SECONDS
    journal.note_membership(True)

    journal.raise_if_stuck()

    clock.seconds += 1
    journal.note_scan(1)
    with pytest.raises(Stuck, match="nothing stored for 61 s"):
        journal.raise_if_stuck()


def test_a_worker_without_work_is_not_stuck() -> None:
    clock = Clock()
    journal = a_journal(clock)
    clock.seconds += STUCK_SECONDS + 1
    journal.note_membership(True)
    journal.note_end_offsets({("events", 0): 5})

    journal.raise_if_stuck()


def test_a_worker_that_the_group_does_not_take_ends() -> None:
    clock = Clock()
    journal = a_journal(clock)
    clock.seconds += STUCK_SECONDS + 1
    journal.note_membership(False)
    journal.note_end_offsets({})

    with pytest.raises(Stuck, match="not in the consumer group"):
        journal.raise_if_stuck()


@pytest.mark.parametrize("torn", [b"", b'{"add": {"path": "da', b"\x00" * 300])
def test_a_torn_newest_log_entry_is_put_aside_and_stored_again(tmp_path: Path, torn: bytes) -> None:
    given = settings(tmp_path)
    batches = [[a_message(0, named("a"))], [a_message(1, named("b"))]]
    for batch in batches:
        BatchWriter(given, CUSTOM_EVENT, Lookups()).write(batch)
    log = tmp_path / "lake" / "events" / "_delta_log"
    (log / f"{2:020}.json").write_bytes(torn)

    repair_logs(given)
    BatchWriter(given, CUSTOM_EVENT, Lookups()).write(batches[1])

    assert rows(given, EVENTS, "name") == [("a",), ("b",)]
    assert (log / f"_torn-{2:020}.json").read_bytes() == torn


def test_a_whole_log_is_left_as_it_is(tmp_path: Path) -> None:
    given = settings(tmp_path)
    table = LakeTable(given, EVENTS)
    table.commit([], {"1/events/0": OffsetUpdate(0, 4)})
    before = sorted((tmp_path / "lake").rglob("*.json"))

    repair_logs(given)

    assert sorted((tmp_path / "lake").rglob("*.json")) == before
    assert [json.loads(line) for line in before[-1].read_text().splitlines()]
