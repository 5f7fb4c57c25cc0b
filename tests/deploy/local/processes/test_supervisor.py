"""Start, restart and end of several processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from deploy.local.processes.process import ProcessState, ShutdownStage
from deploy.local.processes.supervisor import StartupFailed, Supervisor
from tests.deploy.local.processes.scripted_processes import ScriptedProcesses, alive, at_once, until
from tests.installation import ROOT, eventually


def test_processes_stop_in_the_order_of_their_stages(scripted: ScriptedProcesses) -> None:
    scripted.supervise(
        scripted.spec("broker", ShutdownStage.KAFKA),
        scripted.spec("query", ShutdownStage.QUERY),
        scripted.spec("keeper", ShutdownStage.KEEP),
        scripted.spec("worker", ShutdownStage.STREAM),
        scripted.spec("collector", ShutdownStage.COLLECT),
        once_ready=at_once,
    )

    assert [line for line in scripted.lines() if "started" not in line] == [
        "collector told",
        "collector left",
        "worker told",
        "worker left",
        "keeper told",
        "keeper left",
        "query told",
        "query left",
        "broker told",
        "broker left",
    ]


def test_a_process_that_dies_is_started_again(scripted: ScriptedProcesses) -> None:
    async def kill_it(supervisor: Supervisor) -> None:
        (child,) = supervisor.processes
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.state == ProcessState.READY and child.pid not in (None, first))

    (child,) = scripted.supervise(scripted.spec("worker", ShutdownStage.STREAM), once_ready=kill_it)

    assert (child.restarts, child.state) == (1, ProcessState.STOPPED)
    assert scripted.lines() == ["worker started", "worker started", "worker told", "worker left"]


def test_a_killed_broker_is_prepared_before_each_start_and_gets_its_topics_again(
    scripted: ScriptedProcesses,
) -> None:
    calls: list[str] = []

    def prepare() -> None:
        calls.append("prepared")
        if calls.count("prepared") == 2:
            raise OSError(28, "No space left on device")

    async def declare() -> bool:
        calls.append("declared")
        return calls.count("declared") > 1  # Kafka does not answer the first time

    async def kill_it(supervisor: Supervisor) -> None:
        (child,) = supervisor.processes
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        await until(lambda: calls.count("declared") == 2)

    broker = msgspec.structs.replace(scripted.spec("broker", ShutdownStage.KAFKA), before=prepare)
    scripted.supervise(broker, once_ready=kill_it, on_kafka_restart=declare)

    assert calls == ["prepared"] * 3 + ["declared"] * 2


def test_a_process_that_never_gets_ready_ends_it_all_with_its_last_words(
    scripted: ScriptedProcesses,
) -> None:
    with pytest.raises(StartupFailed) as refused:
        scripted.supervise(
            scripted.spec("keeper", ShutdownStage.KEEP),
            scripted.spec("query", ShutdownStage.QUERY, "sulks", "dies=0.2"),
            once_ready=at_once,
        )

    log = scripted.folder / "logs" / "query.log"
    assert str(refused.value) == (
        f"query cannot start (exit code 1). The last lines of {log}:\n"
        "my last words\nmy last words\nmy last words"
    )
    assert scripted.lines()[-2:] == ["keeper told", "keeper left"]


def test_the_second_signal_does_not_wait_for_anybody(scripted: ScriptedProcesses) -> None:
    async def signal_twice(supervisor: Supervisor) -> None:
        supervisor.on_signal()
        supervisor.on_signal()

    (child,) = scripted.supervise(
        scripted.spec("worker", ShutdownStage.STREAM, "stubborn", stop_seconds=600),
        once_ready=signal_twice,
    )

    assert child.state == ProcessState.STOPPED


def test_a_keeper_that_never_gets_ready_does_not_end_the_others(
    scripted: ScriptedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.local.processes.supervisor.OPTIONAL_WAIT_SECONDS", 0.0)

    async def see_it_fail(supervisor: Supervisor) -> None:
        await until(lambda: supervisor.processes[1].restarts > 1)
        assert supervisor.processes[0].state == ProcessState.READY
        assert supervisor.processes[1].reason == "ended with exit code 1: my last words"

    scripted.supervise(
        scripted.spec("collector", ShutdownStage.COLLECT),
        scripted.spec("keeper", ShutdownStage.KEEP, "sulks", "dies=0", needed=False),
        once_ready=see_it_fail,
    )


def test_ends_do_not_count_before_there_is_a_kafka(scripted: ScriptedProcesses) -> None:
    failed: list[int] = []

    async def late() -> None:
        await until(lambda: scripted.lines().count("worker started") > 1)
        failed.append(scripted.lines().count("worker started"))

    with pytest.raises(StartupFailed, match=r"worker cannot start \(exit code 1\)"):
        scripted.supervise(
            scripted.spec("broker", ShutdownStage.KAFKA),
            scripted.spec("worker", ShutdownStage.STREAM, "sulks", "dies=0", attempts=1),
            once_ready=at_once,
            on_kafka_ready=late,
        )

    assert failed == [2]


ORPHANS = """
import asyncio, os, sys
from pathlib import Path
from tests.deploy.local.processes.scripted_processes import ScriptedProcesses
from deploy.local.processes.process import ShutdownStage

async def say(supervisor):
    print(*[child.pid for child in supervisor.processes], flush=True)
    await asyncio.sleep(600)

scripted = ScriptedProcesses(Path(sys.argv[1]))
scripted.supervise(
    scripted.spec("broker", ShutdownStage.KAFKA),
    scripted.spec("worker", ShutdownStage.STREAM, "stubborn"),
    once_ready=say,
)
"""


def test_nothing_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    supervisor = subprocess.Popen(
        (sys.executable, "-c", ORPHANS, str(tmp_path)), cwd=ROOT, stdout=subprocess.PIPE
    )
    with supervisor:
        assert supervisor.stdout
        pids = [int(word) for word in supervisor.stdout.readline().split()]
        before = [alive(pid) for pid in pids]
        supervisor.kill()

    assert before == [True, True]
    eventually(lambda: not any(alive(pid) for pid in pids))
