import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from deploy.local.logs.log_pipes import LogPipe
from deploy.local.processes.process import ProcessSpec, ProcessState, ShutdownStage
from deploy.local.processes.supervised_process import SupervisedProcess
from deploy.local.processes.supervisor import LOG_BYTES, StartupFailed, Supervisor
from deploy.local.processes.watchdog import Watchdog, first_or_second, heartbeat_changed
from tests.installation import ROOT, eventually

PUPPET = Path(__file__).with_name("scripted_process.py")


class Theatre:
    """Scripted processes under a supervisor, and the journal that they write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal"
        self.journal.touch()

    def spec(
        self,
        name: str,
        stage: ShutdownStage,
        *script: str,
        stop_seconds: float = 20,
        attempts: int = 3,
        needed: bool = True,
    ) -> ProcessSpec:
        return ProcessSpec(
            name=name,
            argv=(sys.executable, str(PUPPET), str(self.journal), name, *script),
            stage=stage,
            is_ready=lambda pid: "sulks" not in script and (self.folder / f"{pid}.up").exists(),
            is_alive=heartbeat_changed(self.folder / f"{name}.beat") if "beats" in script else None,
            stop_seconds=stop_seconds,
            max_attempts=attempts,
            required=needed,
        )

    def lines(self) -> list[str]:
        return self.journal.read_text().splitlines()

    def play(
        self,
        *specs: ProcessSpec,
        once_ready: Callable[[Supervisor], Awaitable[None]],
        once_kafka_is_up: Callable[[], Awaitable[None]] | None = None,
        hung_seconds: float = 0.0,
        log_bytes: int = LOG_BYTES,
        kafka_again: Callable[[], Awaitable[bool]] | None = None,
    ) -> list[SupervisedProcess]:
        """Run the supervisor until `once_ready` is over; the children as they are then."""

        async def nothing() -> None:
            return None

        async def run() -> list[SupervisedProcess]:
            supervisor = Supervisor(
                specs,
                dict(os.environ),
                self.folder / "logs",
                once_kafka_is_up or nothing,
                hung_seconds=hung_seconds,
                log_bytes=log_bytes,
                kafka_again=kafka_again,
            )

            async def then_stop() -> None:
                await once_ready(supervisor)
                supervisor.stopping.set()

            await supervisor.run(then_stop)
            return supervisor.processes

        return asyncio.run(run())


@pytest.fixture
def theatre(tmp_path: Path) -> Theatre:
    return Theatre(tmp_path)


async def at_once(_supervisor: Supervisor) -> None:
    return None


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not check():  # noqa: ASYNC110 - processes set no events
            await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_processes_stop_in_the_order_of_their_stages(theatre: Theatre) -> None:
    theatre.play(
        theatre.spec("broker", ShutdownStage.KAFKA),
        theatre.spec("query", ShutdownStage.QUERY),
        theatre.spec("keeper", ShutdownStage.KEEP),
        theatre.spec("worker", ShutdownStage.STREAM),
        theatre.spec("collector", ShutdownStage.COLLECT),
        once_ready=at_once,
    )

    assert [line for line in theatre.lines() if "started" not in line] == [
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


def test_a_process_that_dies_is_started_again(theatre: Theatre) -> None:
    async def kill_it(supervisor: Supervisor) -> None:
        (child,) = supervisor.processes
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.state == ProcessState.READY and child.pid not in (None, first))

    (child,) = theatre.play(theatre.spec("worker", ShutdownStage.STREAM), once_ready=kill_it)

    assert (child.restarts, child.state) == (1, ProcessState.STOPPED)
    assert theatre.lines() == ["worker started", "worker started", "worker told", "worker left"]


def test_a_killed_broker_is_prepared_before_each_start_and_gets_its_topics_again(
    theatre: Theatre,
) -> None:
    told: list[str] = []

    def prepare() -> None:
        told.append("prepared")
        if told.count("prepared") == 2:
            raise OSError(28, "No space left on device")

    async def declare() -> bool:
        told.append("declared")
        return told.count("declared") > 1  # Kafka does not answer the first time

    async def kill_it(supervisor: Supervisor) -> None:
        (child,) = supervisor.processes
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        await until(lambda: told.count("declared") == 2)

    broker = msgspec.structs.replace(theatre.spec("broker", ShutdownStage.KAFKA), before=prepare)
    theatre.play(broker, once_ready=kill_it, kafka_again=declare)

    assert told == ["prepared"] * 3 + ["declared"] * 2


def test_each_end_in_a_row_doubles_the_pause_up_to_ten_seconds(theatre: Theatre) -> None:
    pipe = LogPipe(theatre.folder / "log")
    child = SupervisedProcess(theatre.spec("worker", ShutdownStage.STREAM), {}, pipe)
    pipe.close()
    pauses = []
    for ends in range(1, 9):
        child.consecutive_exits = ends
        pauses.append(child.backoff_seconds())

    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_process_that_never_gets_ready_ends_it_all_with_its_last_words(
    theatre: Theatre,
) -> None:
    with pytest.raises(StartupFailed) as refused:
        theatre.play(
            theatre.spec("keeper", ShutdownStage.KEEP),
            theatre.spec("query", ShutdownStage.QUERY, "sulks", "dies=0.2"),
            once_ready=at_once,
        )

    log = theatre.folder / "logs" / "query.log"
    assert str(refused.value) == (
        f"query cannot start (exit code 1). The last lines of {log}:\n"
        "my last words\nmy last words\nmy last words"
    )
    assert theatre.lines()[-2:] == ["keeper told", "keeper left"]


def test_a_stubborn_process_is_killed_when_its_time_is_over(theatre: Theatre) -> None:
    (child,) = theatre.play(
        theatre.spec("worker", ShutdownStage.STREAM, "stubborn", stop_seconds=0.3),
        once_ready=at_once,
    )

    assert theatre.lines() == ["worker started", "worker told"]
    assert child.pid is None


def test_the_second_signal_does_not_wait_for_anybody(theatre: Theatre) -> None:
    async def signal_twice(supervisor: Supervisor) -> None:
        supervisor.on_signal()
        supervisor.on_signal()

    (child,) = theatre.play(
        theatre.spec("worker", ShutdownStage.STREAM, "stubborn", stop_seconds=600),
        once_ready=signal_twice,
    )

    assert child.state == ProcessState.STOPPED


def test_the_last_words_of_a_dying_process_are_in_its_log(theatre: Theatre) -> None:
    async def see_it_end(supervisor: Supervisor) -> None:
        await until(lambda: supervisor.processes[0].restarts > 0)

    theatre.play(theatre.spec("worker", ShutdownStage.STREAM, "dies=0.3"), once_ready=see_it_end)

    assert (theatre.folder / "logs" / "worker.log").read_text().startswith("my last words\n")


def test_a_log_rotates_while_its_process_runs_and_no_line_is_torn(theatre: Theatre) -> None:
    logs = theatre.folder / "logs"

    async def see_it_rotate(_supervisor: Supervisor) -> None:
        await until(lambda: (logs / "query.old.log").exists())

    (child,) = theatre.play(
        theatre.spec("query", ShutdownStage.QUERY, "chatters"),
        once_ready=see_it_rotate,
        log_bytes=200_000,
    )

    sizes = {path.name: path.stat().st_size for path in logs.iterdir()}
    assert child.restarts == 0
    assert max(sizes.values()) < 200_000 + 65_536
    old, new = ((logs / name).read_text().splitlines() for name in ("query.old.log", "query.log"))
    numbers = [int(line.rpartition(" ")[2]) for line in (*old, *new)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_nobody_waits_for_a_log_writer_that_is_frozen_or_dead(theatre: Theatre) -> None:
    log = theatre.folder / "logs" / "query.log"

    async def freeze_then_kill_the_writer(supervisor: Supervisor) -> None:
        (child,) = supervisor.processes
        await until(lambda: log.exists())
        (writer,) = [p for p in psutil.Process().children() if "log_writer.py" in p.cmdline()[2]]
        writer.suspend()
        before = theatre.lines().count("query chattered")
        await until(lambda: theatre.lines().count("query chattered") > before + 2)  # pipes are full
        writer.kill()
        size = log.stat().st_size
        await until(lambda: log.stat().st_size > size)
        assert child.restarts == 0

    theatre.play(
        theatre.spec("query", ShutdownStage.QUERY, "chatters"),
        once_ready=freeze_then_kill_the_writer,
    )


def test_a_keeper_that_never_gets_ready_does_not_end_the_others(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.local.processes.supervisor.OPTIONAL_WAIT_SECONDS", 0.0)

    async def see_it_fail(supervisor: Supervisor) -> None:
        await until(lambda: supervisor.processes[1].restarts > 1)
        assert supervisor.processes[0].state == ProcessState.READY
        assert supervisor.processes[1].reason == "ended with exit code 1: my last words"

    theatre.play(
        theatre.spec("collector", ShutdownStage.COLLECT),
        theatre.spec("keeper", ShutdownStage.KEEP, "sulks", "dies=0", needed=False),
        once_ready=see_it_fail,
    )


def test_ends_do_not_count_before_there_is_a_kafka(theatre: Theatre) -> None:
    failed: list[int] = []

    async def late() -> None:
        await until(lambda: theatre.lines().count("worker started") > 1)
        failed.append(theatre.lines().count("worker started"))

    with pytest.raises(StartupFailed, match=r"worker cannot start \(exit code 1\)"):
        theatre.play(
            theatre.spec("broker", ShutdownStage.KAFKA),
            theatre.spec("worker", ShutdownStage.STREAM, "sulks", "dies=0", attempts=1),
            once_ready=at_once,
            once_kafka_is_up=late,
        )

    assert failed == [2]


def test_a_frozen_process_is_killed_and_started_again(theatre: Theatre) -> None:
    async def freeze_it(supervisor: Supervisor) -> None:
        beating, frozen = supervisor.processes
        before = frozen.pid
        assert before is not None
        os.kill(before, signal.SIGSTOP)
        await until(lambda: frozen.state == ProcessState.READY and frozen.pid not in (None, before))
        assert frozen.reason == "did not respond for 1 s and was killed"
        assert (beating.restarts, frozen.restarts) == (0, 1)

    theatre.play(
        theatre.spec("collector", ShutdownStage.COLLECT, "beats"),
        theatre.spec("worker", ShutdownStage.STREAM, "beats"),
        once_ready=freeze_it,
        hung_seconds=1.0,
    )


def test_a_frozen_supervisor_kills_nobody_when_it_goes_on() -> None:
    now = [0.0]
    watchdog = Watchdog(limit=5.0, clock=lambda: now[0])
    said = []
    for gap in (1, 1, 600, 1):  # the machine slept for ten minutes
        now[0] += gap
        said.append(watchdog.is_hung(alive=False))
    assert (said, watchdog.silent_seconds) == ([False] * 4, 5.0)

    now[0] += 1
    assert watchdog.is_hung(alive=False)
    assert not watchdog.is_hung(alive=True)


def test_a_service_that_answers_is_alive_though_it_cannot_write_its_heartbeat() -> None:
    asked: list[int] = []
    beats = iter([True, False, False, False, False, True, False, False, False])

    def answers() -> bool:
        asked.append(1)
        return True

    sign = first_or_second(lambda: next(beats), answers, max_missed=2)

    assert [sign() for _ in range(9)] == [True, False, False, True, True, True, False, False, True]
    assert len(asked) == 3


def test_silence_on_a_full_disk_is_no_hanging(theatre: Theatre) -> None:
    """Where no heartbeat can be written, none is missed."""
    spec = theatre.spec("worker", ShutdownStage.STREAM)  # never beats
    spec = msgspec.structs.replace(spec, is_alive=lambda: False)
    logs = theatre.folder / "logs"

    async def stay(supervisor: Supervisor) -> None:
        shutil.rmtree(logs)
        logs.touch()  # nothing can be written there
        await asyncio.sleep(1.3)
        assert supervisor.processes[0].restarts == 0

    theatre.play(spec, once_ready=stay, hung_seconds=0.1)


ORPHANS = """
import asyncio, os, sys
from pathlib import Path
from tests.deploy.local.processes.test_supervisor import Theatre
from deploy.local.processes.process import ShutdownStage

async def say(supervisor):
    print(*[child.pid for child in supervisor.processes], flush=True)
    await asyncio.sleep(600)

theatre = Theatre(Path(sys.argv[1]))
theatre.play(
    theatre.spec("broker", ShutdownStage.KAFKA),
    theatre.spec("worker", ShutdownStage.STREAM, "stubborn"),
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
