"""What is to run, as values; and one running process with what we know about it."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from enum import IntEnum, StrEnum
from pathlib import Path

from msgspec import Struct

LAUNCHER_SCRIPT = Path(__file__).with_name("launcher.py")


class ShutdownStage(IntEnum):
    """The order in which processes stop: who takes in first, what all others need last."""

    COLLECT = 1
    STREAM = 2
    KEEP = 3
    QUERY = 4
    KAFKA = 5


class ProcessState(StrEnum):
    """What a process is doing."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    UNREADY = "unready"
    """Runs and was ready, but cannot serve at the moment."""
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    GONE = "gone"
    """Its process is not there, and its supervisor has not said so yet."""


class ProcessSpec(Struct, frozen=True):
    """One process to run."""

    name: str
    argv: tuple[str, ...]
    stage: ShutdownStage
    is_ready: Callable[[int], bool]
    """Whether the process with this pid serves; may block for a second."""
    is_alive: Callable[[], bool] | None = None
    """Whether it has shown a sign of life since the last call; None: nobody can tell."""
    before: Callable[[], object] | None = None
    """What is done before each start; may block, and OSError or RuntimeError puts the start off."""
    address: str = ""
    """Where it can be reached."""
    stop_seconds: float = 20.0
    max_attempts: int = 3
    """Starts without ever being ready after which we give up."""
    required: bool = True
    """Whether the whole is worth nothing without it; if not, it is tried again for ever."""


def pid_exists(pid: int) -> bool:
    """Whether there is a process with this pid, ours or not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class RunningProcess:
    """A started process and its group."""

    def __init__(self, spec: ProcessSpec, process: asyncio.subprocess.Process) -> None:
        self.spec = spec
        self.pid = process.pid
        self.started = time.monotonic()
        self._process = process

    @classmethod
    async def start(
        cls, spec: ProcessSpec, environment: Mapping[str, str], output: int
    ) -> "RunningProcess":
        """Run the program in a session of its own: a ctrl-C is ours to hand on, in order."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-S", str(LAUNCHER_SCRIPT), str(os.getpid()), *spec.argv),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
        return cls(spec, process)

    @property
    def uptime_seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.started

    async def wait(self) -> int:
        """Its exit code, when it has one."""
        return await self._process.wait()

    async def stop(self, hurry: asyncio.Event) -> None:
        """SIGTERM; SIGKILL to the whole group when it takes too long or somebody is in a hurry."""
        self.signal(signal.SIGTERM)
        ending = asyncio.ensure_future(self.wait())
        hurrying = asyncio.ensure_future(hurry.wait())
        await asyncio.wait(
            (ending, hurrying),
            timeout=self.spec.stop_seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )
        hurrying.cancel()
        self.signal(signal.SIGKILL)
        await ending

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to what it started."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return  # gone already
