import io
from contextlib import suppress
from pathlib import Path

import msgspec

from deploy.local.disk_space import DiskSpaceMonitor
from deploy.local.logs.log_files import LogTail, exit_reason, last_lines
from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import (
    ProcessesStatus,
    ProcessStatus,
    read_processes_file,
    write_processes_file,
)
from deploy.local.status_screen import StatusScreen
from deploy.local.up import DamageWatch, damage_of
from schemas.lake.damage_reports import DamagedFile, DamageReports
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import Heartbeat, write_heartbeat
from schemas.runtime.settings import Settings


def account(state: ProcessState, pid: int | None = 7) -> ProcessesStatus:
    entry = ProcessStatus(
        "worker-1", state, pid, 0, "http://127.0.0.1:1", "/data/logs/worker-1.log", "", 4101
    )
    return ProcessesStatus(1, state == ProcessState.READY, (entry,))


def test_a_file_gets_a_line_for_each_change() -> None:
    out = io.StringIO()
    screen = StatusScreen(out)

    for state in (
        ProcessState.WAITING,
        ProcessState.STARTING,
        ProcessState.STARTING,
        ProcessState.READY,
    ):
        screen.show(account(state))
    screen.show_progress("ready")
    screen.show(account(ProcessState.STOPPED, pid=None))

    assert out.getvalue().splitlines() == [
        "worker-1     starting  pid 7  http://127.0.0.1:1",
        "worker-1     ready  pid 7  http://127.0.0.1:1",
        "ready",
        "worker-1     stopped",
    ]


def test_a_terminal_is_redrawn_in_place() -> None:
    out = io.StringIO()
    screen = StatusScreen(out, in_place=True)

    screen.show(account(ProcessState.READY))
    screen.show_progress("ready")

    header, row, redrawn, *rest = out.getvalue().split("\n")
    assert header.startswith("process ")
    assert row.startswith("worker-1  ready  7    0         http://127.0.0.1:1  4101     ")
    assert redrawn == f"\x1b[2A\x1b[J{header}"
    assert rest == [row, "", "ready", ""]


def test_the_account_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_processes_file(tmp_path) is None
    write_processes_file(tmp_path, account(ProcessState.READY))

    assert read_processes_file(tmp_path) == account(ProcessState.READY)


def test_an_account_of_a_supervisor_that_is_gone_is_none(tmp_path: Path) -> None:
    write_processes_file(tmp_path, ProcessesStatus(supervisor=2**22 + 1, ready=True, processes=()))

    assert read_processes_file(tmp_path) is None


def test_followed_logs_say_each_new_whole_line_once(tmp_path: Path) -> None:
    worker, query = tmp_path / "worker.log", tmp_path / "query.log"
    lines: list[str] = []
    worker.write_text("of the last start\n")
    followed = LogTail({"worker-1": worker, "query": query}, lines.append)

    followed.poll()
    with worker.open("a") as file:
        file.write("one\ntwo, not fin")
    query.write_text("here\n")
    followed.poll()
    with worker.open("a") as file:
        file.write("ished\n")
    followed.poll()

    assert lines == ["worker-1 | one", "query    | here", "worker-1 | two, not finished"]


def test_followed_logs_go_on_in_the_next_file(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    lines: list[str] = []
    log.write_text("a longer line of before\n")
    followed = LogTail({"w": log}, lines.append)
    with log.open("a") as file:
        file.write("last of the old\n")

    log.rename(tmp_path / "worker.old.log")
    log.write_text("first of the new\n")
    followed.poll()

    assert lines == ["w | last of the old", "w | first of the new"]


def test_why_a_process_ended_is_told_in_its_own_words(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    assert exit_reason(log) == ""
    log.write_text("Traceback\nValueError: one and two\n\n")
    assert exit_reason(log) == "ValueError: one and two"
    log.write_text(
        "2026-11-22 CRITICAL stream.worker: worker exits error=WrongCluster "
        "reason=raise the epoch\n"
        "2026-11-22 ERROR aiokafka: something else\n"
    )
    assert exit_reason(log) == "raise the epoch"


def test_the_reason_of_a_restart_is_on_the_screen() -> None:
    out, entry = io.StringIO(), account(ProcessState.RESTARTING, pid=None).processes[0]
    why = msgspec.structs.replace(entry, reason="ended with exit code 78: raise the epoch")

    StatusScreen(out).show(ProcessesStatus(1, False, (why,)))
    StatusScreen(out, in_place=True).show(ProcessesStatus(1, False, (why,)))

    assert out.getvalue().splitlines()[0] == (
        "worker-1     restarting  (ended with exit code 78: raise the epoch)"
    )
    assert out.getvalue().splitlines()[-1] == "worker-1: ended with exit code 78: raise the epoch"


def test_a_screen_on_a_full_disk_ends_nothing() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        StatusScreen(full).show(account(ProcessState.READY))
        with suppress(OSError):
            full.close()


def test_the_end_of_a_log_leaves_out_the_frames_of_java(tmp_path: Path) -> None:
    path = tmp_path / "broker.log"
    path.write_text("a\nb\njava.lang.RuntimeException: c\n\tat kafka.Kafka.main(Kafka.scala)\nd\n")

    assert last_lines(path, 3) == "b\njava.lang.RuntimeException: c\nd"
    assert last_lines(tmp_path / "none.log") == ""


def test_a_disk_that_gets_short_is_said_once_and_so_is_room_again() -> None:
    lines: list[str] = []
    free = iter([900, 511, 300, None, 100, 600, 700])
    watch = DiskSpaceMonitor(512, lambda: next(free), lines.append)

    for _ in range(7):
        watch.check()

    assert lines == [
        "disk: only 511 MB free, minimum 512 MB: free some space",
        "disk: 600 MB free again",
    ]


def test_damage_that_is_found_while_all_runs_is_said_once_with_what_to_run(tmp_path: Path) -> None:
    given, lines = Settings(data_dir=str(tmp_path)), list[str]()
    damage = DamageReports(tmp_path)
    first, second = (DamagedFile("events", f"day=2026-11-20/{n}.parquet", "", 2) for n in "ab")
    watch = DamageWatch(lambda: damage_of(given), lines.append)

    watch.check()
    for found in (first, second):
        damage.report(found, "")
        watch.check()
        watch.check()
    heartbeat = Heartbeat("worker-1", 1, now_ms(), reason="events waits: tidemark doctor --repair")
    write_heartbeat(tmp_path / "run", heartbeat)
    watch.check()
    for found in (first, second):
        damage.clear(found)
    (tmp_path / "run" / "worker-1.json").unlink()
    watch.check()

    one = "1 data file is damaged; queries that need it fail, everything else works"
    two = "2 data files are damaged; queries that need them fail, everything else works"
    assert lines == [
        f"damage: {one}. Run tidemark doctor --repair",
        f"damage: {two}. Run tidemark doctor --repair",
        f"damage: {two}. Run tidemark doctor --repair. "
        "worker-1: events waits: tidemark doctor --repair",
        "damage: none any more",
    ]
