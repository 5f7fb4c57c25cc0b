"""SupervisedProcess: start, readiness, restart with exponential backoff."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

from deploy.local.logs.log_files import exit_reason, last_lines
from deploy.local.logs.log_pipes import LogPipe
from deploy.local.processes.process import (
    ProcessSpec,
    ProcessState,
    RunningProcess,
    take_restart_order,
)
from deploy.local.processes.watchdog import Watchdog, is_writable

MIN_BACKOFF_SECONDS = 0.2
MAX_BACKOFF_SECONDS = 10.0
STABLE_AFTER_SECONDS = 30.0
"""A process that has run that long starts again with the shortest backoff."""
STARTUP_POLL_SECONDS = 0.1
READY_POLL_SECONDS = 1.0


class StartFailed(Exception):
    """A required process ended repeatedly before it was ever ready; has its last log lines."""


class SupervisedProcess:
    """Keeps the process of one spec running until it is told to stop.

    A process that was ready is killed after `hung_seconds` without a sign of life (0: never).
    Failed starts count against `max_attempts` only while `counts` is true: Kafka may not be ready
    yet.
    """

    def __init__(
        self,
        spec: ProcessSpec,
        environment: Mapping[str, str],
        log: LogPipe,
        on_change: Callable[[], None] = lambda: None,
        hung_seconds: float = 0.0,
        counts: Callable[[], bool] = lambda: True,
    ) -> None:
        self.spec = spec
        self.log = log.path
        self.state = ProcessState.WAITING
        self.running: RunningProcess | None = None
        self.restarts = 0
        """Restarts after it ended by itself, was killed or failed to start; not those ordered."""
        self.ended_count = 0
        """How often it has ended, restarts that a user ordered included."""
        self.reason = ""
        """Why it ended last or could not be started; cleared after a stable run."""
        self.became_ready = asyncio.Event()
        """Set when it becomes ready for the first time."""
        self.consecutive_exits = 0
        self._pipe = log
        self._environment = environment
        self._on_change = on_change
        self._stopping = asyncio.Event()
        self._hung_seconds = hung_seconds
        self._hung = False
        self._ordered = False
        self._counts_failures = counts
        self._failures = 0

    @property
    def pid(self) -> int | None:
        """Pid of the running process."""
        return self.running.pid if self.running else None

    async def run(self) -> None:
        """Run the process until `stop`; raise StartFailed when it never becomes ready."""
        while not self._stopping.is_set():
            await self._run_once()
            if self._stopping.is_set():
                break
            if not self._ordered:
                self._failures += self._counts_failures()
                self._give_up_if_never_ready()
            self._set_state(ProcessState.RESTARTING)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self.backoff_seconds())
            self.ended_count += 1
            self.restarts += not self._ordered
        self._set_state(ProcessState.STOPPED)

    async def stop(self, hurry: asyncio.Event) -> None:
        """Stop the process, and do not restart it."""
        self._stopping.set()
        if self.running:
            self._set_state(ProcessState.STOPPING)
            await self.running.stop(hurry)

    def backoff_seconds(self) -> float:
        """Exponential backoff: doubled with every consecutive exit, up to a maximum."""
        return min(MIN_BACKOFF_SECONDS * 2.0 ** (self.consecutive_exits - 1), MAX_BACKOFF_SECONDS)

    async def _run_once(self) -> None:
        self._ordered = False
        try:
            if self.spec.before:
                await asyncio.to_thread(self.spec.before)
            self.running = await RunningProcess.start(
                self.spec, self._environment, self._pipe.write_end
            )
        except (OSError, RuntimeError) as error:  # no memory, file descriptors or disk space
            self.consecutive_exits += 1
            self.reason = f"cannot be started: {error}"
            return
        self._hung = False
        self._set_state(ProcessState.STARTING)
        if self._stopping.is_set():  # stopped while it was starting
            self.running.signal(signal.SIGKILL)
        watch_task = asyncio.create_task(self._watch(self.running))
        try:
            code = await self.running.wait()
        finally:
            watch_task.cancel()
        self._ordered = take_restart_order(self.log, self.running.pid) and not self._hung
        stable = self._ordered or self.running.uptime_seconds > STABLE_AFTER_SECONDS
        self.consecutive_exits = 1 if stable else self.consecutive_exits + 1
        self.running = None
        if not self._stopping.is_set():
            await self._pipe.drained()
            self.reason = "" if self._ordered else self._exit_reason(code)

    async def _watch(self, running: RunningProcess) -> None:
        """Poll readiness: often until it is ready, then every second; also feed the watchdog."""
        watchdog = Watchdog(self._hung_seconds)
        was_ready = False
        while True:
            ready = await self._is_ready(running)
            if not self._stopping.is_set():
                self._update_state(ready, running)
            was_ready = was_ready or ready
            if was_ready and self._hung_seconds and self.spec.is_alive:
                await self._end_if_hung(running, watchdog)
            await asyncio.sleep(
                STARTUP_POLL_SECONDS if self.state == ProcessState.STARTING else READY_POLL_SECONDS
            )

    async def _is_ready(self, running: RunningProcess) -> bool:
        try:
            return await asyncio.to_thread(self.spec.is_ready, running.pid)
        except (OSError, RuntimeError):  # no file descriptor or thread for the check
            return False

    def _update_state(self, ready: bool, running: RunningProcess) -> None:
        if ready and self.reason and running.uptime_seconds > STABLE_AFTER_SECONDS:
            self.reason = ""
            self._on_change()
        if ready and self.state != ProcessState.READY:
            self._set_state(ProcessState.READY)
            self.became_ready.set()
        elif not ready and self.state == ProcessState.READY:
            self._set_state(ProcessState.UNREADY)

    async def _end_if_hung(self, running: RunningProcess, watchdog: Watchdog) -> None:
        """SIGKILL a hung process: a frozen one handles no other signal."""
        assert self.spec.is_alive  # noqa: S101 - for the type checker
        alive = await asyncio.to_thread(self.spec.is_alive)
        if not watchdog.is_hung(alive) or self._stopping.is_set():
            return
        if await asyncio.to_thread(is_writable, self.log.parent):
            self._hung = True
            running.signal(signal.SIGKILL)
        else:
            watchdog.reset()

    def _exit_reason(self, code: int) -> str:
        if self._hung:
            return f"did not respond for {self._hung_seconds:.0f} s and was killed"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        reason = exit_reason(self.log) if code else ""
        return f"ended with exit code {code}" + (f": {reason}" if reason else "")

    def _give_up_if_never_ready(self) -> None:
        hopeless = self._failures >= self.spec.max_attempts and not self.became_ready.is_set()
        if hopeless and self.spec.required:
            how = self.reason.partition(":")[0].removeprefix("ended with ")
            raise StartFailed(
                f"{self.spec.name} cannot start ({how}). "
                f"The last lines of {self.log}:\n{last_lines(self.log)}"
            )

    def _set_state(self, state: ProcessState) -> None:
        self.state = state
        self._on_change()
