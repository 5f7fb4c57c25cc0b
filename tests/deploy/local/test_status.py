import os
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from deploy.cli import main
from deploy.local import status
from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import (
    ProcessesStatus,
    ProcessStatus,
    read_processes_file,
    write_processes_file,
)
from deploy.local.processes.readiness import heartbeat_ready, is_fresh
from deploy.local.status import SystemStatus, rejects_all, system_status
from deploy.local.table_status import lag_chunks, lag_seconds, relevant_heartbeats
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import STALE_AFTER_MS, Heartbeat, PartitionProgress, write_heartbeat
from schemas.runtime.settings import Settings
from tests.installation import free_port

NOW = 1_795_262_400_000


def working(process: str, *progress: PartitionProgress, level_ms: int = NOW) -> Heartbeat:
    return Heartbeat(process, 1, NOW, progress=progress, complete_ms={"events": level_ms})


def test_the_lag_of_a_topic_is_that_of_all_its_partitions() -> None:
    heartbeats = [
        working(
            "worker-1",
            PartitionProgress("events", 0, 10, 14),
            PartitionProgress("vitals", 0, 0, 99),
        ),
        working(
            "worker-2", PartitionProgress("events", 1, 7, 7), PartitionProgress("events", 2, 1, 4)
        ),
    ]

    assert lag_chunks("events", heartbeats) == 7
    assert lag_chunks("clicks", heartbeats) is None


def test_a_partition_that_was_read_past_its_last_look_does_not_lag() -> None:
    assert lag_chunks("events", [working("worker-1", PartitionProgress("events", 0, 12, 10))]) == 0


def test_the_worker_that_is_furthest_behind_says_since_when() -> None:
    heartbeats = [
        working("worker-1", PartitionProgress("events", 0, 1, 2), level_ms=NOW - 1_500),
        working("worker-2", PartitionProgress("events", 1, 1, 2), level_ms=NOW - 4_250),
    ]

    assert lag_seconds("events", heartbeats, 3, NOW) == 4.2
    assert lag_seconds("events", heartbeats, 0, NOW) == 0.0
    assert lag_seconds("events", heartbeats, None, NOW) is None


def test_a_process_is_ready_by_a_fresh_heartbeat_of_its_own_pid(tmp_path: Path) -> None:
    ready = heartbeat_ready(tmp_path, "worker-1")
    now, answers = now_ms(), []
    for heartbeat in (
        Heartbeat("worker-1", 7, now),
        Heartbeat("worker-1", 8, now),
        Heartbeat("worker-1", 7, now, state="starting"),
        Heartbeat("worker-1", 7, now - STALE_AFTER_MS - 1),
    ):
        write_heartbeat(tmp_path, heartbeat)
        answers.append(ready(7))

    assert answers == [True, False, False, False]


def test_an_old_heartbeat_is_not_fresh() -> None:
    assert not is_fresh(Heartbeat("worker-1", 7, NOW - 1_000_000_000_000))


def test_a_worker_that_cannot_say_yet_leaves_the_lag_open() -> None:
    joined = Heartbeat("worker-2", 2, NOW, progress=(PartitionProgress("events", 1, 10, 446),))
    heartbeats = [working("worker-1", PartitionProgress("events", 0, 5, 5)), joined]

    assert (lag_chunks("events", heartbeats), lag_seconds("events", heartbeats, 436, NOW)) == (
        436,
        None,
    )


def test_a_frozen_worker_still_counts_until_another_holds_its_partitions() -> None:
    old = NOW - STALE_AFTER_MS - 20_000
    frozen = Heartbeat(
        "worker-1", 11, old, "ready", (PartitionProgress("events", 0, 4, 9),), {"events": old}
    )
    gone = Heartbeat(
        "worker-3", 33, old, "ready", (PartitionProgress("events", 1, 4, 9),), {"events": old}
    )
    heir = working("worker-2", PartitionProgress("events", 0, 9, 9))

    assert relevant_heartbeats([frozen, gone], {11}, NOW) == [frozen]
    assert lag_seconds("events", [frozen], lag_chunks("events", [frozen]), NOW) == 35.0
    assert relevant_heartbeats([frozen, gone, heir], {11}, NOW) == [heir]


NAMES = ("broker", "collector-1", "worker-1", "query-1")


def running(data: Path, at_ms: int, **states: ProcessState) -> SystemStatus:
    """The condition of four processes, all of which are this one and have a fresh heartbeat."""
    pid = os.getpid()
    entries = tuple(
        ProcessStatus(
            name, states.get(name.partition("-")[0], ProcessState.READY), pid, 0, "", "x.log"
        )
        for name in NAMES
    )
    write_processes_file(data, ProcessesStatus(pid, True, entries, at_ms))
    for name in NAMES[1:]:
        write_heartbeat(data / "run", Heartbeat(name, pid, now_ms()))
    return system_status(Settings(data_dir=str(data)))


def test_all_is_well_when_all_are_ready(tmp_path: Path) -> None:
    found = running(tmp_path, now_ms())

    assert (found.state, found.problems) == ("ok", ())


def test_a_warning_of_a_process_is_a_problem_while_its_heartbeat_is_fresh(tmp_path: Path) -> None:
    running(tmp_path, now_ms())
    for name, age_ms in (("collector-1", 0), ("query-9", 2 * STALE_AFTER_MS)):
        heartbeat = Heartbeat(name, os.getpid(), now_ms() - age_ms, warning="a proxy")
        write_heartbeat(tmp_path / "run", heartbeat)

    found = system_status(Settings(data_dir=str(tmp_path)))

    assert (found.state, found.problems) == ("degraded", ("collector-1: a proxy",))


def test_a_full_disk_is_down_as_collectors_refuse_every_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "free_mb", lambda _: 3)

    found = running(tmp_path, now_ms())

    assert (found.state, len(found.problems)) == ("down", 1)
    assert found.problems[0].startswith("only 3 MB free on the disk of")


def test_no_collector_is_down_and_no_worker_is_degraded(tmp_path: Path) -> None:
    down = running(tmp_path, now_ms(), collector=ProcessState.RESTARTING)
    degraded = running(tmp_path, now_ms(), worker=ProcessState.STARTING)

    assert (down.state, down.problems) == ("down", ("collector-1 is restarting",))
    assert (degraded.state, degraded.problems) == ("degraded", ("worker-1 is starting",))


def test_a_full_disk_is_down_where_collectors_reject_events_for_it(tmp_path: Path) -> None:
    running(tmp_path, now_ms())
    full, data = 10**9, str(tmp_path)
    kafka = f"127.0.0.1:{free_port()}"

    here = system_status(Settings(data_dir=data, disk_floor_mb=full))

    assert here.state == "down"
    assert "(minimum 1000000000 MB)" in here.problems[0]
    assert rejects_all(Settings(data_dir=data, kafka=kafka, disk_floor_mb=full), 5)
    assert not rejects_all(Settings(data_dir=data, kafka=kafka), 0)  # its Kafka has another disk
    assert not rejects_all(Settings(data_dir=data, disk_floor_mb=full), None)


def test_a_stale_ready_of_a_full_disk_is_not_believed(tmp_path: Path) -> None:
    """The supervisor could not write that its processes died; their pids and heartbeats tell."""
    running(tmp_path, now_ms())
    account = read_processes_file(tmp_path)
    assert account
    gone = msgspec.structs.replace(account.processes[0], pid=2**22 + 1)
    others = account.processes[1:]
    write_processes_file(
        tmp_path, ProcessesStatus(os.getpid(), True, (gone, *others), now_ms() - 60_000)
    )
    write_heartbeat(tmp_path / "run", Heartbeat("worker-1", os.getpid(), now_ms() - 60_000))

    found = system_status(Settings(data_dir=str(tmp_path)))

    assert [(entry.name, entry.state) for entry in found.processes] == [
        ("broker", "gone"),
        ("collector-1", "ready"),
        ("worker-1", "unready"),
        ("query-1", "ready"),
    ]
    assert found.state == "down"
    assert found.problems == (
        "the supervisor has not reported for 60 s; check whether the disk is full",
        "broker is gone",
        "worker-1 is unready",
    )


def test_a_gap_in_one_log_hides_no_other_table(tmp_path: Path) -> None:
    for table in ("events", "vitals"):
        log = tmp_path / "lake" / table / "_delta_log"
        log.mkdir(parents=True)
        (log / f"{0:020}.json").write_text("torn {")

    found = running(tmp_path, now_ms())

    by_name = {table.name: table for table in found.tables}
    assert found.state == "degraded"
    assert (by_name["events"].rows, by_name["clicks"].rows) == (None, 0)
    assert [table.name for table in found.tables if table.problem] == ["events", "vitals"]
    assert all("\n" not in problem and len(problem) < 250 for problem in found.problems)


@pytest.mark.parametrize(
    ("states", "code"),
    [({}, 0), ({"worker": ProcessState.STARTING}, 1), ({"query": ProcessState.UNREADY}, 2)],
)
def test_a_check_of_the_status_tells_a_program(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    states: dict[str, ProcessState],
    code: int,
) -> None:
    running(tmp_path, now_ms(), **states)
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))

    main(["status"])  # without --check it only shows
    with pytest.raises(SystemExit) if code else nullcontext() as ended:
        main(["status", "--check", "--json"])

    assert ended is None or ended.value.code == code
