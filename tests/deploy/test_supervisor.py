import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from deploy.local.child import Child
from deploy.local.process import Spec, Stage, State
from deploy.local.supervisor import NotStarted, Supervisor
from tests.running import ROOT, eventually

PUPPET = Path(__file__).with_name("puppet.py")


class Theatre:
    """Puppets under a supervisor, and the journal of what they were told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal"
        self.journal.touch()

    def spec(self, name: str, stage: Stage, *script: str, stop_seconds: float = 20) -> Spec:
        return Spec(
            name=name,
            argv=(sys.executable, str(PUPPET), str(self.journal), name, *script),
            stage=stage,
            ready=lambda pid: "sulks" not in script and (self.folder / f"{pid}.up").exists(),
            stop_seconds=stop_seconds,
        )

    def lines(self) -> list[str]:
        return self.journal.read_text().splitlines()

    def play(
        self, *specs: Spec, once_ready: Callable[[Supervisor], Awaitable[None]]
    ) -> list[Child]:
        """Run the supervisor until `once_ready` is over; the children as they are then."""

        async def nothing() -> None:
            return None

        async def run() -> list[Child]:
            supervisor = Supervisor(specs, dict(os.environ), self.folder / "logs", nothing)

            async def then_stop() -> None:
                await once_ready(supervisor)
                supervisor.stopping.set()

            await supervisor.run(then_stop)
            return supervisor.children

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
        theatre.spec("broker", Stage.KAFKA),
        theatre.spec("query", Stage.QUERY),
        theatre.spec("keeper", Stage.KEEP),
        theatre.spec("worker", Stage.STREAM),
        theatre.spec("collector", Stage.COLLECT),
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
        (child,) = supervisor.children
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.state == State.READY and child.pid not in (None, first))

    (child,) = theatre.play(theatre.spec("worker", Stage.STREAM), once_ready=kill_it)

    assert (child.restarts, child.state) == (1, State.STOPPED)
    assert theatre.lines() == ["worker started", "worker started", "worker told", "worker left"]


def test_each_end_in_a_row_doubles_the_pause_up_to_ten_seconds(theatre: Theatre) -> None:
    child = Child(theatre.spec("worker", Stage.STREAM), {}, theatre.folder / "log")
    pauses = []
    for ends in range(1, 9):
        child.ends = ends
        pauses.append(child.delay())

    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_process_that_never_gets_ready_ends_it_all_with_its_last_words(
    theatre: Theatre,
) -> None:
    with pytest.raises(NotStarted) as refused:
        theatre.play(
            theatre.spec("keeper", Stage.KEEP),
            theatre.spec("query", Stage.QUERY, "sulks", "dies=0.2"),
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
        theatre.spec("worker", Stage.STREAM, "stubborn", stop_seconds=0.3), once_ready=at_once
    )

    assert theatre.lines() == ["worker started", "worker told"]
    assert child.pid is None


def test_the_second_signal_does_not_wait_for_anybody(theatre: Theatre) -> None:
    async def signal_twice(supervisor: Supervisor) -> None:
        supervisor.signalled()
        supervisor.signalled()

    (child,) = theatre.play(
        theatre.spec("worker", Stage.STREAM, "stubborn", stop_seconds=600),
        once_ready=signal_twice,
    )

    assert child.state == State.STOPPED


ORPHANS = """
import asyncio, os, sys
from pathlib import Path
from tests.deploy.test_supervisor import Theatre
from deploy.local.process import Stage

async def say(supervisor):
    print(*[child.pid for child in supervisor.children], flush=True)
    await asyncio.sleep(600)

theatre = Theatre(Path(sys.argv[1]))
theatre.play(
    theatre.spec("broker", Stage.KAFKA),
    theatre.spec("worker", Stage.STREAM, "stubborn"),
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
