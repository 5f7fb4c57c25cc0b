"""Processes that hang are killed; those that cannot show that they live are not."""

import asyncio
import os
import shutil
import signal

import msgspec

from deploy.local.processes.process import ProcessState, ShutdownStage
from deploy.local.processes.supervisor import Supervisor
from deploy.local.processes.watchdog import Watchdog, first_or_second
from tests.deploy.local.processes.scripted_processes import ScriptedProcesses, until


def test_a_frozen_process_is_killed_and_started_again(scripted: ScriptedProcesses) -> None:
    async def freeze_it(supervisor: Supervisor) -> None:
        beating, frozen = supervisor.processes
        before = frozen.pid
        assert before is not None
        os.kill(before, signal.SIGSTOP)
        await until(lambda: frozen.state == ProcessState.READY and frozen.pid not in (None, before))
        assert frozen.reason == "did not respond for 1 s and was killed"
        assert (beating.restarts, frozen.restarts) == (0, 1)

    scripted.supervise(
        scripted.spec("collector", ShutdownStage.COLLECT, "beats"),
        scripted.spec("worker", ShutdownStage.STREAM, "beats"),
        once_ready=freeze_it,
        hung_seconds=1.0,
    )


def test_a_frozen_supervisor_kills_nobody_when_it_goes_on() -> None:
    now = [0.0]
    watchdog = Watchdog(limit=5.0, clock=lambda: now[0])
    hung = []
    for gap in (1, 1, 600, 1):  # the machine slept for ten minutes
        now[0] += gap
        hung.append(watchdog.is_hung(alive=False))
    assert (hung, watchdog.silent_seconds) == ([False] * 4, 5.0)

    now[0] += 1
    assert watchdog.is_hung(alive=False)
    assert not watchdog.is_hung(alive=True)


def test_a_service_that_answers_is_alive_though_it_cannot_write_its_heartbeat() -> None:
    calls: list[int] = []
    beats = iter([True, False, False, False, False, True, False, False, False])

    def answers() -> bool:
        calls.append(1)
        return True

    sign = first_or_second(lambda: next(beats), answers, max_missed=2)

    assert [sign() for _ in range(9)] == [True, False, False, True, True, True, False, False, True]
    assert len(calls) == 3


def test_silence_on_a_full_disk_is_no_hanging(scripted: ScriptedProcesses) -> None:
    """Where no heartbeat can be written, none is missed."""
    spec = scripted.spec("worker", ShutdownStage.STREAM)  # never beats
    spec = msgspec.structs.replace(spec, is_alive=lambda: False)
    logs = scripted.folder / "logs"

    async def stay(supervisor: Supervisor) -> None:
        shutil.rmtree(logs)
        logs.touch()  # nothing can be written there
        await asyncio.sleep(1.3)
        assert supervisor.processes[0].restarts == 0

    scripted.supervise(spec, once_ready=stay, hung_seconds=0.1)
