"""A worker's progress, its heartbeats, and its start on a torn log."""

import asyncio
import json
from pathlib import Path

import pytest
from faust.types import TP

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.heartbeat import (
    REFUSED,
    Heartbeat,
    PartitionProgress,
    read_heartbeats,
    refusal_reason,
)
from schemas.tables import EVENTS
from stream.app import Worker
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


def make_progress(clock: Clock) -> WorkerProgress:
    progress = WorkerProgress(clock.now_ms, clock.monotonic)
    progress.assign({("events", 0): 5, ("events", 1): 0})
    return progress


def test_a_heartbeat_has_the_offsets_of_each_partition(tmp_path: Path) -> None:
    clock = Clock()
    progress = make_progress(clock)
    progress.note_end_offsets({("events", 0): 9})
    progress.note_end_offsets({("events", 1): 0})

    progress.write_heartbeat(tmp_path, "worker-1", 77, STARTED)

    assert [p.progress for p in read_heartbeats(tmp_path)] == [
        (PartitionProgress("events", 0, 5, 9), PartitionProgress("events", 1, 0, 0))
    ]
    assert read_heartbeats(tmp_path)[0].complete_ms == {}

    progress.batch_written("events", {0: 9}, {0: 990_000})
    progress.note_end_offsets({})
    progress.write_heartbeat(tmp_path, "worker-1", 77, STARTED)

    assert read_heartbeats(tmp_path)[0].complete_ms == {"events": 1_000_000 - FETCH_LAG_MS}


def test_a_refusal_stays_in_the_heartbeat_until_the_worker_has_joined_the_group(
    tmp_path: Path,
) -> None:
    clock = Clock()
    progress = make_progress(clock)
    before = Heartbeat("worker-1", 76, 999_000, REFUSED, reason="the address is wrong")

    progress.write_heartbeat(tmp_path, "worker-1", 77, before)
    assert refusal_reason(tmp_path, 1_001_000) == "worker-1: the address is wrong"
    assert refusal_reason(tmp_path, 1_061_000) is None  # nobody starts it any more

    progress.note_membership(joined=True)
    progress.write_heartbeat(tmp_path, "worker-1", 77, before)
    assert [(heartbeat.state, heartbeat.reason) for heartbeat in read_heartbeats(tmp_path)] == [
        ("ready", "")
    ]


def test_a_skipped_table_is_in_the_heartbeat_for_as_long_as_it_is_skipped(tmp_path: Path) -> None:
    progress = make_progress(Clock())
    progress.note_membership(joined=True)

    progress.write_heartbeat(
        tmp_path, "worker-1", 77, STARTED, "events waits; tidemark doctor --repair"
    )
    assert refusal_reason(tmp_path, 1_001_000) == "worker-1: events waits; tidemark doctor --repair"

    progress.write_heartbeat(tmp_path, "worker-1", 77, STARTED)
    assert refusal_reason(tmp_path, 1_001_000) is None


def complete(progress: WorkerProgress, run: Path) -> dict[str, int]:
    progress.write_heartbeat(run, "worker-1", 77, STARTED)
    return read_heartbeats(run)[0].complete_ms


def test_the_watermark_of_a_busy_partition_is_that_of_its_last_stored_message(
    tmp_path: Path,
) -> None:
    progress = make_progress(Clock())
    progress.batch_written("events", {0: 8}, {0: 998_500})
    progress.note_end_offsets({("events", 0): 9, ("events", 1): 0})

    assert complete(progress, tmp_path) == {"events": 998_500}


def test_there_is_no_watermark_while_one_partition_is_unknown(tmp_path: Path) -> None:
    progress = make_progress(Clock())
    progress.note_end_offsets({("events", 0): 5})

    assert complete(progress, tmp_path) == {}


def test_new_partitions_have_no_watermark(tmp_path: Path) -> None:
    progress = make_progress(Clock())
    progress.note_end_offsets({("events", 0): 5, ("events", 1): 0})
    progress.assign({("events", 0): 5, ("events", 2): 0})

    assert complete(progress, tmp_path) == {}


def test_a_worker_that_stores_nothing_of_waiting_messages_is_stuck() -> None:
    clock = Clock()
    progress = make_progress(clock)
    progress.note_end_offsets({("events", 0): 9})
    clock.seconds += STUCK_SECONDS + 1
    progress.note_membership(True)
    progress.note_end_offsets({("events", 0): 10})

    with pytest.raises(Stuck, match="nothing stored for 61 s"):
        progress.raise_if_stuck()


def test_a_worker_that_scans_its_table_is_not_stuck() -> None:
    clock = Clock()
    progress = make_progress(clock)
    progress.note_end_offsets({("events", 0): 9})
    clock.seconds += STUCK_SECONDS
    progress.note_membership(True)
    progress.note_scan(1)
    clock.seconds += STUCK_SECONDS
    progress.note_membership(True)

    progress.raise_if_stuck()

    clock.seconds += 1
    progress.note_scan(1)
    with pytest.raises(Stuck, match="nothing stored for 61 s"):
        progress.raise_if_stuck()


def test_a_worker_without_work_is_not_stuck() -> None:
    clock = Clock()
    progress = make_progress(clock)
    clock.seconds += STUCK_SECONDS + 1
    progress.note_membership(True)
    progress.note_end_offsets({("events", 0): 5})

    progress.raise_if_stuck()


def test_a_worker_that_cannot_join_its_group_is_stuck() -> None:
    clock = Clock()
    progress = make_progress(clock)
    clock.seconds += STUCK_SECONDS + 1
    progress.note_membership(False)
    progress.note_end_offsets({})

    with pytest.raises(Stuck, match="not in the consumer group"):
        progress.raise_if_stuck()


def test_a_worker_without_partitions_has_no_progress(tmp_path: Path) -> None:
    async def run() -> Worker:
        worker = Worker(settings(tmp_path), "worker-1", {}, lambda _: None)
        worker.progress.assign({("events", 0): 5})
        await worker.app.on_partitions_assigned.send({TP("events", 0)})
        assert worker.progress.partitions()
        await worker.app.on_partitions_assigned.send(set())
        return worker

    assert not asyncio.run(run()).progress.partitions()


@pytest.mark.parametrize("torn", [b"", b'{"add": {"path": "da', b"\x00" * 300])
def test_a_torn_newest_log_entry_is_moved_aside_and_its_batch_stored_again(
    tmp_path: Path, torn: bytes
) -> None:
    config = settings(tmp_path)
    batches = [[a_message(0, named("a"))], [a_message(1, named("b"))]]
    for batch in batches:
        BatchWriter(config, CUSTOM_EVENT, Lookups()).write(batch)
    log = tmp_path / "lake" / "events" / "_delta_log"
    (log / f"{2:020}.json").write_bytes(torn)

    repair_logs(config)
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write(batches[1])

    assert rows(config, EVENTS, "name") == [("a",), ("b",)]
    assert (log / f"_torn-{2:020}.json").read_bytes() == torn


def test_an_intact_log_is_not_changed(tmp_path: Path) -> None:
    config = settings(tmp_path)
    table = LakeTable(config, EVENTS)
    table.commit([], {"1/events/0": OffsetUpdate(0, 4)})
    before = sorted((tmp_path / "lake").rglob("*.json"))

    repair_logs(config)

    assert sorted((tmp_path / "lake").rglob("*.json")) == before
    assert [json.loads(line) for line in before[-1].read_text().splitlines()]
