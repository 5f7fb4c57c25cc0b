"""Scripted processes under a supervisor, and what to wait for."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from deploy.local.processes.process import ProcessSpec, ShutdownStage
from deploy.local.processes.supervised_process import SupervisedProcess
from deploy.local.processes.supervisor import LOG_BYTES, Supervisor
from deploy.local.processes.watchdog import heartbeat_changed

SCRIPTED_PROCESS = Path(__file__).with_name("scripted_process.py")


class ScriptedProcesses:
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
            argv=(sys.executable, str(SCRIPTED_PROCESS), str(self.journal), name, *script),
            stage=stage,
            is_ready=lambda pid: "sulks" not in script and (self.folder / f"{pid}.up").exists(),
            is_alive=heartbeat_changed(self.folder / f"{name}.beat") if "beats" in script else None,
            stop_seconds=stop_seconds,
            max_attempts=attempts,
            required=needed,
        )

    def lines(self) -> list[str]:
        return self.journal.read_text().splitlines()

    def supervise(
        self,
        *specs: ProcessSpec,
        once_ready: Callable[[Supervisor], Awaitable[None]],
        on_kafka_ready: Callable[[], Awaitable[None]] | None = None,
        hung_seconds: float = 0.0,
        log_bytes: int = LOG_BYTES,
        on_kafka_restart: Callable[[], Awaitable[bool]] | None = None,
    ) -> list[SupervisedProcess]:
        """Run the supervisor until `once_ready` is over; the children as they are then."""

        async def nothing() -> None:
            return None

        async def run() -> list[SupervisedProcess]:
            supervisor = Supervisor(
                specs,
                dict(os.environ),
                self.folder / "logs",
                on_kafka_ready or nothing,
                hung_seconds=hung_seconds,
                log_bytes=log_bytes,
                on_kafka_restart=on_kafka_restart,
            )

            async def then_stop() -> None:
                await once_ready(supervisor)
                supervisor.stopping.set()

            await supervisor.run(then_stop)
            return supervisor.processes

        return asyncio.run(run())


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
