"""ProcessSpec, and RunningProcess: one started process and its group."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import IntEnum, StrEnum
from pathlib import Path

from msgspec import Struct

from schemas.runtime.environment import PREFIX
from schemas.runtime.files import write_atomically

METRICS_PORT = f"{PREFIX}METRICS_PORT"
LAUNCHER_SCRIPT = Path(__file__).with_name("launcher.py")


class ShutdownStage(IntEnum):
    """The order of the stop: collectors first, Kafka, which all others need, last."""

    COLLECT = 1
    STREAM = 2
    KEEP = 3
    QUERY = 4
    KAFKA = 5


class ProcessState(StrEnum):
    """The state of a supervised process."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    UNREADY = "unready"
    """It runs and was ready, but is not ready now."""
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    GONE = "gone"
    """The process has ended, and the supervisor has not reported it yet."""


class ProcessSpec(Struct, frozen=True):
    """One process to run."""

    name: str
    argv: tuple[str, ...]
    stage: ShutdownStage
    is_ready: Callable[[int], bool]
    """Readiness check of the process with this pid; may block for a second."""
    is_alive: Callable[[], bool] | None = None
    """Liveness check: was there a sign of life since the last call? None: not checked."""
    before: Callable[[], object] | None = None
    """Runs before each start; may block. OSError or RuntimeError delays the start."""
    variables: Mapping[str, str] = {}
    """Environment variables of its own."""
    address: str = ""
    """Its address, for display."""
    stop_seconds: float = 20.0
    max_attempts: int = 3
    """Failed starts, without ever being ready, after which a required process gives up."""
    required: bool = True
    """Whether the installation needs it; an optional process is restarted for ever."""

    @property
    def metrics_port(self) -> int | None:
        """The port at which it serves metrics and health; None without one."""
        return int(self.variables.get(METRICS_PORT, 0)) or None


def pid_exists(pid: int) -> bool:
    """Whether a process with this pid exists."""
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
        """Start the program in a session of its own, so that Ctrl-C reaches only the supervisor."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-S", str(LAUNCHER_SCRIPT), str(os.getpid()), *spec.argv),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**environment, **spec.variables},
            start_new_session=True,
        )
        return cls(spec, process)

    @property
    def uptime_seconds(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self.started

    async def wait(self) -> int:
        """Wait for its end, and return the exit code."""
        return await self._process.wait()

    async def stop(self, hurry: asyncio.Event) -> None:
        """Send SIGTERM, then SIGKILL to the whole group after a timeout or when `hurry` is set."""
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
        """Send a signal to the process group."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return  # gone already


def write_restart_order(log: Path, pid: int) -> None:
    """Say that the process with this log and pid is being restarted.

    On a full disk nobody is told, and it is restarted all the same.
    """
    with suppress(OSError):
        write_atomically(_path(log), f"{pid}\n".encode())


def take_restart_order(log: Path, pid: int) -> bool:
    """Whether the end of this process was ordered; the order is fulfilled by that."""
    try:
        ordered = _path(log).read_text().strip() == str(pid)
        _path(log).unlink()
    except (OSError, UnicodeDecodeError):
        return False
    return ordered


def _path(log: Path) -> Path:
    return log.with_suffix(".restart")
